#include <levin/modules/optim/rmsprop.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <levin/modules/optim/parameter_groups.h>
#include <levin/trainer/core/error.h>

#include <memory>
#include <utility>

namespace levin::optim {
namespace {

void check(const RMSpropOptions& options, const std::string& path) {
  schema_of<RMSpropOptions>().check(&options, path);
}

torch::optim::RMSpropOptions to_torch(const RMSpropOptions& options) {
  check(options, "RMSprop");
  return torch::optim::RMSpropOptions(options.lr)
      .alpha(options.alpha)
      .eps(options.eps)
      .weight_decay(options.weight_decay)
      .momentum(options.momentum)
      .centered(options.centered);
}

void check_group(const torch::optim::RMSpropOptions& options, const std::string& path) {
  check({.lr = options.lr(),
         .alpha = options.alpha(),
         .eps = options.eps(),
         .weight_decay = options.weight_decay(),
         .momentum = options.momentum(),
         .centered = options.centered()},
        path);
}

using ParamState = torch::optim::RMSpropParamState;

std::unique_ptr<ParamState> first_state(const at::Tensor& parameter, const torch::optim::RMSpropOptions& options) {
  const auto zeros = [&] { return at::zeros_like(parameter, at::MemoryFormat::Preserve); };
  auto state = std::make_unique<ParamState>();
  state->step(0);
  state->square_avg(zeros());
  if (options.momentum() > 0) state->momentum_buffer(zeros());
  if (options.centered()) state->grad_avg(zeros());
  return state;
}

/// In the float operations of Python's torch.optim; LibTorch's C++ step averages gradients without lerp.
void update(const at::Tensor& parameter, ParamState& state, const torch::optim::RMSpropOptions& options) {
  at::Tensor grad = parameter.grad();
  if (grad.is_sparse()) throw UsageError("RMSprop does not take sparse gradients; use SGD or Adagrad");
  state.step(state.step() + 1);
  if (options.weight_decay() != 0) grad = grad.add(parameter, options.weight_decay());
  at::Tensor square = state.square_avg();
  square.mul_(options.alpha()).addcmul_(grad, grad, 1 - options.alpha());
  at::Tensor average;
  if (options.centered()) {
    at::Tensor mean = state.grad_avg();
    mean.lerp_(grad, 1 - options.alpha());
    average = square.addcmul(mean, mean, -1).sqrt_();
  } else {
    average = square.sqrt();
  }
  average.add_(options.eps());
  if (options.momentum() > 0) {
    at::Tensor buffer = state.momentum_buffer();
    buffer.mul_(options.momentum()).addcdiv_(grad, average);
    parameter.add_(buffer, -options.lr());
  } else {
    parameter.addcdiv_(grad, average, -options.lr());
  }
}

}  // namespace

RMSprop::RMSprop(std::vector<at::Tensor> parameters, RMSpropOptions options)
    : RMSprop(detail::one_group(std::move(parameters)), options) {}

RMSprop::RMSprop(std::vector<torch::optim::OptimizerParamGroup> groups, RMSpropOptions options)
    : torch::optim::RMSprop(detail::checked_groups<torch::optim::RMSpropOptions>("RMSprop", groups),
                            to_torch(options)) {
  detail::check_group_options<torch::optim::RMSpropOptions>("RMSprop", param_groups(), check_group);
}

at::Tensor RMSprop::step(LossClosure closure) {
  at::Tensor loss;
  if (closure) {
    const at::AutoGradMode with_gradients(true);
    loss = closure();
  }
  const at::NoGradGuard no_grad;
  for (auto& group : param_groups()) {
    const auto& options = static_cast<const torch::optim::RMSpropOptions&>(group.options());
    for (const at::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      auto& held = state()[parameter.unsafeGetTensorImpl()];
      if (!held) held = first_state(parameter, options);
      update(parameter, static_cast<ParamState&>(*held), options);
    }
  }
  return loss;
}

}  // namespace levin::optim
