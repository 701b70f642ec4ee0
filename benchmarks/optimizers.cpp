// A step of levin's optimizers against LibTorch's and against the kernels that Python's fused=True calls, in
// alternation: clipping to a norm, the step and zeroing of the gradients, over separately allocated tensors. Gradients
// are new tensors in each step, as backward leaves them; the time to make them is included only in the cases with
// backward.
//
//   benchmark_optimizers [ROUNDS] [json] [THREADS]     microseconds and ratios: medians and spread
#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
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
  int64_t tensors, size;
  bool backward;
  int rounds;
  bool json;
};

using Parameters = std::vector<torch::Tensor>;
using Step = std::function<void()>;

/// A step with clipping. `optimizer`: of LibTorch.
template <class Optimizer, class Options>
Step by_torch(const Parameters& parameters, Options options) {
  auto optimizer = std::make_shared<Optimizer>(parameters, options);
  return [parameters, optimizer] {
    torch::nn::utils::clip_grad_norm_(parameters, 1.0);
    optimizer->step();
    optimizer->zero_grad();
  };
}

template <class Optimizer, class Options>
Step by_levin(const Parameters& parameters, Options options) {
  auto optimizer = std::make_shared<Optimizer>(parameters, options);
  return [optimizer] {
    optimizer->clip_grad_norm(1.0);
    optimizer->step();
    optimizer->zero_grad();
  };
}

/// What Python does with fused=True, without the time of Python itself: `kernel(parameters, gradients, first, second,
/// steps)`.
Step by_kernels(
    const Parameters& parameters,
    const std::function<void(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList)>& kernel) {
  struct State {
    Parameters detached = {}, first = {}, second = {}, steps = {};
  };
  auto state = std::make_shared<State>();
  for (const torch::Tensor& p : parameters) {
    state->detached.push_back(p.detach());
    for (auto* const list : {&state->first, &state->second}) list->push_back(torch::zeros_like(p));
    state->steps.push_back(torch::zeros({}, torch::kFloat));
  }
  return [parameters, state, kernel] {
    const torch::NoGradGuard no_grad;
    Parameters gradients;
    for (const torch::Tensor& p : parameters) gradients.push_back(p.grad());
    at::_foreach_add_(state->steps, 1);
    // torch.nn.utils.clip_grad_norm_
    const torch::Tensor norm = torch::stack(at::_foreach_norm(gradients)).norm();
    at::_foreach_mul_(gradients, (1.0 / (norm + 1e-6)).clamp_max(1.0));
    kernel(state->detached, gradients, state->first, state->second, state->steps);
    for (const torch::Tensor& p : parameters) const_cast<torch::Tensor&>(p).mutable_grad().reset();
  };
}

struct Contenders {
  Step torch, levin, kernels = {}, fused = {};  ///< `kernels` and `fused`: empty where there are none
};

void compare(const std::string& name, const Settings& settings,
             const std::function<Contenders(const Parameters&)>& contenders_of) {
  const auto [tensors, size, backward, rounds, json] = settings;
  const int64_t total = tensors * size;
  const int steps = total > 10'000'000 ? 3 : total > 2'000'000 ? 20 : 200;
  Network network(tensors, size);
  const Contenders contenders = contenders_of(network.parameters);
  Rounds of_torch, of_levin, of_kernels, of_fused;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    const auto measure = [&](const Step& step, Rounds& into) {
      if (!step) return;
      const double us = microseconds(network, backward, steps, step);
      if (round >= 0) into.values.push_back(us);
    };
    measure(contenders.torch, of_torch);
    measure(contenders.levin, of_levin);
    measure(contenders.kernels, of_kernels);
    measure(contenders.fused, of_fused);
  }
  const Rounds ratios = of_torch.over(of_levin);
  const char* const format =
      json ? "{\"optimizer\": \"%s\", \"tensors\": %ld, \"size\": %ld, \"backward\": %s, \"torch_us\": %.1f, "
             "\"levin_us\": %.1f, \"ratio\": %.3f, \"least\": %.3f, \"most\": %.3f"
           : "%-8s %ld tensors of %7ld, backward %5s: torch::optim %8.0f us, levin %7.0f us, ratio %.2f (%.2f to "
             "%.2f)";
  std::printf(format, name.c_str(), tensors, size, backward ? "true" : "false", of_torch.median(), of_levin.median(),
              ratios.median(), ratios.least(), ratios.most());
  if (contenders.fused) {
    const Rounds of_peer = of_fused.over(of_kernels), of_default = of_levin.over(of_fused);
    std::printf(json ? ", \"kernels_us\": %.1f, \"fused_us\": %.1f, \"fused_ratio\": %.3f, \"fused_least\": %.3f, "
                       "\"fused_most\": %.3f, \"levin_over_fused\": %.3f"
                     : "; Python's fused %7.0f us, levin's %7.0f us, %.2fx of it (%.2f to %.2f), levin %.2fx of fused",
                of_kernels.median(), of_fused.median(), of_peer.median(), of_peer.least(), of_peer.most(),
                of_default.median());
  }
  std::printf(json ? "}\n" : "\n");
  std::fflush(stdout);
}

Contenders adam(const Parameters& p) {
  return {by_torch<torch::optim::Adam>(p, torch::optim::AdamOptions(1e-3)),
          by_levin<levin::optim::Adam>(p, levin::optim::AdamOptions{}),
          by_kernels(p,
                     [](auto parameters, auto gradients, auto first, auto second, auto steps) {
                       at::_fused_adam_(parameters, gradients, first, second, {}, steps, 1e-3, 0.9, 0.999, 0, 1e-8,
                                        false, false);
                     }),
          by_levin<levin::optim::Adam>(p, levin::optim::AdamOptions{.fused = true})};
}

Contenders adamw(const Parameters& p) {
  return {by_torch<torch::optim::AdamW>(p, torch::optim::AdamWOptions(1e-3)),
          by_levin<levin::optim::AdamW>(p, levin::optim::AdamWOptions{}),
          by_kernels(p,
                     [](auto parameters, auto gradients, auto first, auto second, auto steps) {
                       at::_fused_adamw_(parameters, gradients, first, second, {}, steps, 1e-3, 0.9, 0.999, 0.01, 1e-8,
                                         false, false);
                     }),
          by_levin<levin::optim::AdamW>(p, levin::optim::AdamWOptions{.fused = true})};
}

Contenders sgd(const Parameters& p) {
  return {
      by_torch<torch::optim::SGD>(p, torch::optim::SGDOptions(0.1).momentum(0.9)),
      by_levin<levin::optim::SGD>(p, levin::optim::SGDOptions{.lr = 0.1, .momentum = 0.9}),
      by_kernels(p, [](auto parameters, auto gradients, auto first, auto,
                       auto) { at::_fused_sgd_(parameters, gradients, first, 0, 0.9, 0.1, 0, false, false, false); }),
      by_levin<levin::optim::SGD>(p, levin::optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .fused = true})};
}

Contenders adagrad(const Parameters& p) {
  return {by_torch<torch::optim::Adagrad>(p, torch::optim::AdagradOptions(1e-2)),
          by_levin<levin::optim::Adagrad>(p, levin::optim::AdagradOptions{}),
          by_kernels(p,
                     [](auto parameters, auto gradients, auto first, auto, auto steps) {
                       at::_fused_adagrad_(parameters, gradients, first, steps, 1e-2, 0, 0, 1e-10, false);
                     }),
          by_levin<levin::optim::Adagrad>(p, levin::optim::AdagradOptions{.fused = true})};
}

Contenders rmsprop(const Parameters& p) {
  return {by_torch<torch::optim::RMSprop>(p, torch::optim::RMSpropOptions(1e-2)),
          by_levin<levin::optim::RMSprop>(p, levin::optim::RMSpropOptions{})};
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::stoi(argv[1])) : 9;
  const bool json = argc > 2 && std::string(argv[2]) == "json";
  if (argc > 3) torch::set_num_threads(std::stoi(argv[3]));
  const levin::HeapRetention heap;  // as under fit, for all
  for (const bool backward : {false, true}) {
    for (const auto& [tensors, size] :
         {std::pair<int64_t, int64_t>{4, 256}, {200, 1024}, {200, 16'384}, {200, 131'072}, {16, 3'125'000}}) {
      const Settings settings{tensors, size, backward, rounds, json};
      compare("Adam", settings, &adam);
      compare("AdamW", settings, &adamw);
      compare("SGD", settings, &sgd);
      if (backward) continue;
      compare("RMSprop", settings, &rmsprop);
      compare("Adagrad", settings, &adagrad);
    }
  }
}
