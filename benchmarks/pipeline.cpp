// A model in two halves, each on its own device, here one core: a pipeline against running the halves one after the
// other. Forward and backward of one batch, in alternation, medians.
//
//   benchmark_pipeline [ROUNDS]
#include <levin/levin.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "benchmarks/statistics.h"

namespace {

constexpr int64_t kBatch = 4096, kWidth = 512;

torch::nn::Sequential half() {
  torch::nn::Sequential net;
  for (int i = 0; i < 3; ++i) {
    net->push_back(torch::nn::Linear(kWidth, kWidth));
    net->push_back(torch::nn::ReLU());
  }
  return net;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  torch::manual_seed(1);
  torch::nn::Sequential first = half(), second = half();
  const auto input = torch::randn({kBatch, kWidth}), target = torch::randn({kBatch, kWidth});
  const auto loss_of = [](const torch::Tensor& output, const torch::Tensor& wanted) {
    return torch::mse_loss(output, wanted);
  };
  const auto clear = [&] {
    for (auto* net : {&first, &second})
      for (torch::Tensor& parameter : (*net)->parameters()) parameter.mutable_grad().reset();
  };
  const auto waiting = [&] {
    at::set_num_threads(1);
    loss_of(second->forward(first->forward(input)), target).backward();
  };
  std::vector<std::pair<std::string, std::function<void()>>> ways = {{"one waits for the other", waiting}};
  for (const int64_t micro_batches : {2, 4, 8}) {
    levin::parallel::Pipeline net(levin::parallel::PipelineOptions{.micro_batches = micro_batches});
    net->push_back(first, torch::kCPU);
    net->push_back(second, torch::kCPU);
    ways.emplace_back("GPipe, " + std::to_string(micro_batches), [=]() mutable {
      at::set_num_threads(2);  // one per stage
      loss_of(net->forward(input), target).backward();
    });
    ways.emplace_back("1F1B,  " + std::to_string(micro_batches), [=]() mutable {
      at::set_num_threads(2);
      net->loss(input, target, loss_of).backward();
    });
  }
  std::vector<Rounds> rounds_of(ways.size());
  for (int round = -1; round < rounds; ++round)  // the first one warms up
    for (size_t i = 0; i < ways.size(); ++i) {
      clear();
      const auto begin = std::chrono::steady_clock::now();
      ways[i].second();
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
      if (round >= 0) rounds_of[i].values.push_back(took.count());
    }
  for (size_t i = 0; i < ways.size(); ++i)
    std::printf("%-26s %8.1f ms  %.2fx\n", ways[i].first.c_str(), rounds_of[i].median(),
                rounds_of[0].over(rounds_of[i]).median());
  return 0;
}
