#pragma once
#include <ATen/core/grad_mode.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros_like.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/option.h>
#include <torch/optim/optimizer.h>

#include <cmath>
#include <memory>
#include <string>
#include <tuple>

namespace levin::optim::detail {

/// What Adam and AdamW share. `Options` is AdamOptions or AdamWOptions, `TorchOptions` LibTorch's class for the same.
template <class Options>
void check_adam(const Options& options, const std::string& path) {
  if (options.betas.size() != 2) throw UsageError(path, ".betas: expected two numbers, got ", options.betas.size());
  schema_of<Options>().check(&options, path);
}

template <class TorchOptions, class Options>
TorchOptions checked_adam_options(const Options& options, const std::string& path) {
  check_adam(options, path);
  return TorchOptions(options.lr)
      .betas({options.betas[0], options.betas[1]})
      .eps(options.eps)
      .weight_decay(options.weight_decay)
      .amsgrad(options.amsgrad);
}

template <class Options, class TorchOptions>
void check_adam_group(const TorchOptions& options, const std::string& path) {
  const auto [beta1, beta2] = options.betas();
  check_adam(Options{.lr = options.lr(),
                     .betas = {beta1, beta2},
                     .eps = options.eps(),
                     .weight_decay = options.weight_decay(),
                     .amsgrad = options.amsgrad()},
             path);
}

/// One parameter of Adam or AdamW, in the float operations of Python's torch.optim, whose bits LibTorch's C++ step does
/// not give (it averages by multiplying and adding instead of lerp).
template <class ParamState, class Options>
void adam_update(const at::Tensor& parameter, ParamState& state, const Options& options, bool decoupled) {
  const auto [beta1, beta2] = options.betas();
  at::Tensor grad = parameter.grad();
  if (grad.is_sparse()) throw UsageError("Adam and AdamW do not take sparse gradients; use SGD or Adagrad");
  state.step(state.step() + 1);
  if (options.weight_decay() != 0) {
    if (decoupled)
      parameter.mul_(1 - options.lr() * options.weight_decay());
    else
      grad = grad.add(parameter, options.weight_decay());
  }
  at::Tensor average = state.exp_avg(), square = state.exp_avg_sq();
  average.lerp_(grad, 1 - beta1);
  square.mul_(beta2).addcmul_(grad, grad, 1 - beta2);
  const auto step = static_cast<double>(state.step());
  const double step_size = options.lr() / (1 - std::pow(beta1, step));
  const double correction = std::sqrt(1 - std::pow(beta2, step));
  if (options.amsgrad()) {
    at::Tensor largest = state.max_exp_avg_sq();
    at::maximum_out(largest, largest, square);
    square = largest;
  }
  parameter.addcdiv_(average, square.sqrt().div_(correction).add_(options.eps()), -step_size);
}

/// A step over all groups; `ParamState` and `Options` are LibTorch's of the optimizer.
template <class ParamState, class Options>
at::Tensor adam_step(torch::optim::Optimizer& optimizer, const torch::optim::Optimizer::LossClosure& closure,
                     bool decoupled) {
  at::Tensor loss;
  if (closure) {
    const at::AutoGradMode with_gradients(true);
    loss = closure();
  }
  const at::NoGradGuard no_grad;
  for (auto& group : optimizer.param_groups()) {
    const auto& options = static_cast<const Options&>(group.options());
    for (const at::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      auto& held = optimizer.state()[parameter.unsafeGetTensorImpl()];
      if (!held) {
        auto made = std::make_unique<ParamState>();
        made->step(0);
        made->exp_avg(at::zeros_like(parameter, at::MemoryFormat::Preserve));
        made->exp_avg_sq(at::zeros_like(parameter, at::MemoryFormat::Preserve));
        if (options.amsgrad()) made->max_exp_avg_sq(at::zeros_like(parameter, at::MemoryFormat::Preserve));
        held = std::move(made);
      }
      adam_update(parameter, static_cast<ParamState&>(*held), options, decoupled);
    }
  }
  return loss;
}

}  // namespace levin::optim::detail
