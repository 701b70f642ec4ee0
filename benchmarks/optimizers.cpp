// A step of levin's optimizers against LibTorch's, in alternation: clipping to a norm, the step and zeroing of the
// gradients, over separately allocated tensors. Gradients are new tensors in each step, as backward leaves them; the
// time to make them is included only in the cases with backward.
//
//   benchmark_optimizers [ROUNDS] [json]       microseconds and ratios: medians and spread
#include <levin/core/system/heap.h>
#include <levin/levin.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/statistics.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Network {
  explicit Network(int64_t tensors, int64_t size) {
    for (int64_t i = 0; i < tensors; ++i) {
      parameters.push_back(torch::randn({size}).requires_grad_());
      gradients.push_back(torch::randn({size}) * 1e-3);
    }
  }
  /// Sets gradients as backward leaves them: new tensors, in reused memory.
  void set_gradients() {
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].mutable_grad() = gradients[i].clone();
  }
  /// Runs a forward pass of one operation per parameter, and backward.
  void forward_backward() {
    std::vector<torch::Tensor> outputs;
    for (const torch::Tensor& parameter : parameters) outputs.push_back(parameter * 0.5);
    torch::autograd::backward(outputs, gradients);
  }
  std::vector<torch::Tensor> parameters = {}, gradients = {};
};

double microseconds(Network& network, bool backward, int steps, const std::function<void()>& work) {
  double total = 0;
  for (int i = 0; i < steps; ++i) {
    if (!backward) network.set_gradients();
    const auto begin = Clock::now();
    if (backward) network.forward_backward();
    work();
    total += std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  return total / steps;
}

struct Settings {
  int64_t size;
  bool backward;
  int rounds;
  bool json;
};

void compare(const std::string& name, const Settings& settings,
             const std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>& theirs,
             const std::function<std::unique_ptr<levin::optim::Optimizer>(std::vector<torch::Tensor>)>& ours) {
  constexpr int64_t kTensors = 200;
  const auto [size, backward, rounds, json] = settings;
  const int steps = size > 100'000 ? 3 : size > 10'000 ? 20 : 200;
  Network network(kTensors, size);
  const auto torch_optimizer = theirs(network.parameters);
  const auto levin_optimizer = ours(network.parameters);
  Rounds by_torch, by_levin;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    const double torch_us = microseconds(network, backward, steps, [&] {
      torch::nn::utils::clip_grad_norm_(network.parameters, 1.0);
      torch_optimizer->step();
      torch_optimizer->zero_grad();
    });
    const double levin_us = microseconds(network, backward, steps, [&] {
      levin_optimizer->clip_grad_norm(1.0);
      levin_optimizer->step();
      levin_optimizer->zero_grad();
    });
    if (round < 0) continue;
    by_torch.values.push_back(torch_us);
    by_levin.values.push_back(levin_us);
  }
  const Rounds ratios = by_torch.over(by_levin);
  const char* const format =
      json ? "{\"optimizer\": \"%s\", \"tensors\": %ld, \"size\": %ld, \"backward\": %s, \"torch_us\": %.1f, "
             "\"levin_us\": %.1f, \"ratio\": %.3f, \"least\": %.3f, \"most\": %.3f}\n"
           : "%-8s %ld tensors of %7ld, backward %5s: torch::optim %8.0f us, levin %7.0f us, ratio %.2f (%.2f to "
             "%.2f)\n";
  std::printf(format, name.c_str(), kTensors, size, backward ? "true" : "false", by_torch.median(), by_levin.median(),
              ratios.median(), ratios.least(), ratios.most());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::stoi(argv[1])) : 9;
  const bool json = argc > 2 && std::string(argv[2]) == "json";
  const levin::HeapRetention heap;  // as under fit, for both optimizers
  const auto make = [](auto optimizer) { return std::make_unique<decltype(optimizer)>(std::move(optimizer)); };
  for (const bool backward : {false, true}) {
    for (const int64_t size : {1024, 16'384, 131'072}) {
      const Settings settings{size, backward, rounds, json};
      compare(
          "Adam", settings, [&](auto p) { return make(torch::optim::Adam(p)); },
          [&](auto p) { return make(levin::optim::Adam(p)); });
      compare(
          "AdamW", settings, [&](auto p) { return make(torch::optim::AdamW(p)); },
          [&](auto p) { return make(levin::optim::AdamW(p)); });
      compare(
          "SGD", settings,
          [&](auto p) { return make(torch::optim::SGD(p, torch::optim::SGDOptions(0.1).momentum(0.9))); },
          [&](auto p) { return make(levin::optim::SGD(p, {.lr = 0.1, .momentum = 0.9})); });
      if (backward) continue;
      compare(
          "RMSprop", settings, [&](auto p) { return make(torch::optim::RMSprop(p)); },
          [&](auto p) { return make(levin::optim::RMSprop(p)); });
      compare(
          "Adagrad", settings, [&](auto p) { return make(torch::optim::Adagrad(p)); },
          [&](auto p) { return make(levin::optim::Adagrad(p)); });
    }
  }
}
