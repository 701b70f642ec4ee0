// A step of levin's optimizers against LibTorch's: clipping to a norm, the step and zeroing of the gradients, over
// tensors that lie apart, in turn. Backward is stood in for by new gradients, which both free.
//
//   benchmark_optimizers [ROUNDS]        microseconds and ratios: medians and spread
#include <levin/levin.h>
#include <levin/trainer/core/heap.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Network {
  explicit Network(int64_t tensors, int64_t size) {
    for (int64_t i = 0; i < tensors; ++i) {
      parameters.push_back(torch::randn({size}).requires_grad_());
      gradients.push_back(torch::randn({size}) * 1e-3);
    }
  }
  /// As backward leaves them: new tensors, of memory that was used before.
  void set_gradients() {
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].mutable_grad() = gradients[i].clone();
  }
  std::vector<torch::Tensor> parameters = {}, gradients = {};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double microseconds(Network& network, int steps, const std::function<void()>& work) {
  double total = 0;
  for (int i = 0; i < steps; ++i) {
    network.set_gradients();
    const auto begin = Clock::now();
    work();
    total += std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  return total / steps;
}

void compare(const std::string& name, int64_t size, int rounds,
             const std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>& theirs,
             const std::function<std::unique_ptr<levin::optim::Optimizer>(std::vector<torch::Tensor>)>& ours) {
  constexpr int64_t kTensors = 200;
  const int steps = size > 100'000 ? 3 : size > 10'000 ? 20 : 200;
  Network network(kTensors, size);
  const auto torch_optimizer = theirs(network.parameters);
  const auto levin_optimizer = ours(network.parameters);
  std::vector<double> by_torch, by_levin, ratios;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    const double torch_us = microseconds(network, steps, [&] {
      torch::nn::utils::clip_grad_norm_(network.parameters, 1.0);
      torch_optimizer->step();
      torch_optimizer->zero_grad();
    });
    const double levin_us = microseconds(network, steps, [&] {
      levin_optimizer->clip_grad_norm(1.0);
      levin_optimizer->step();
      levin_optimizer->zero_grad();
    });
    if (round < 0) continue;
    by_torch.push_back(torch_us);
    by_levin.push_back(levin_us);
    ratios.push_back(torch_us / levin_us);
  }
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%-8s %lld tensors of %7lld: torch::optim %8.0f us, levin %7.0f us, ratio %.1f (%.1f to %.1f)\n",
              name.c_str(), static_cast<long long>(kTensors), static_cast<long long>(size), median(by_torch),
              median(by_levin), median(ratios), *low, *high);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::stoi(argv[1])) : 9;
  const levin::KeptHeap heap;  // as under fit, for both
  const auto make = [](auto optimizer) { return std::make_unique<decltype(optimizer)>(std::move(optimizer)); };
  for (const int64_t size : {1024, 16'384, 131'072}) {
    compare(
        "Adam", size, rounds, [&](auto p) { return make(torch::optim::Adam(p)); },
        [&](auto p) { return make(levin::optim::Adam(p)); });
    compare(
        "AdamW", size, rounds, [&](auto p) { return make(torch::optim::AdamW(p)); },
        [&](auto p) { return make(levin::optim::AdamW(p)); });
    compare(
        "SGD", size, rounds,
        [&](auto p) { return make(torch::optim::SGD(p, torch::optim::SGDOptions(0.1).momentum(0.9))); },
        [&](auto p) { return make(levin::optim::SGD(p, {.lr = 0.1, .momentum = 0.9})); });
    compare(
        "RMSprop", size, rounds, [&](auto p) { return make(torch::optim::RMSprop(p)); },
        [&](auto p) { return make(levin::optim::RMSprop(p)); });
    compare(
        "Adagrad", size, rounds, [&](auto p) { return make(torch::optim::Adagrad(p)); },
        [&](auto p) { return make(levin::optim::Adagrad(p)); });
  }
}
