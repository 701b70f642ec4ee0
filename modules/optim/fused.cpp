#include <levin/modules/optim/fused.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/full.h>

#include <utility>

namespace levin::optim::detail {
namespace {

TensorList scaled(TensorList gradients, double multiplier) {
  return multiplier == 1 ? std::move(gradients) : TensorList(at::_foreach_mul(gradients, multiplier));
}

}  // namespace

void fused_sgd(const SGDOptions& options, double multiplier, bool first, FusedLists lists) {
  if (options.momentum == 0) lists.state[0].clear();
  at::_fused_sgd_(lists.parameters, scaled(std::move(lists.gradients), multiplier), lists.state[0],
                  options.weight_decay, options.momentum, options.lr, options.dampening, options.nesterov,
                  /*maximize=*/false, first);
}

void fused_adam(const AdamSettings& settings, double multiplier, FusedLists lists) {
  const TensorList gradients = scaled(std::move(lists.gradients), multiplier);
  const at::Tensor step = at::full({}, static_cast<double>(lists.step),
                                   at::TensorOptions(at::kFloat).device(lists.parameters.front().device()));
  const TensorList steps(lists.parameters.size(), step);
  if (!settings.amsgrad) lists.state[2].clear();
  const auto kernel = [&](auto&& fused) {
    fused(lists.parameters, gradients, lists.state[0], lists.state[1], lists.state[2], steps, settings.lr,
          settings.beta1, settings.beta2, settings.weight_decay, settings.eps, settings.amsgrad, /*maximize=*/false,
          std::nullopt, std::nullopt);
  };
  if (settings.decoupled)
    kernel([](auto&&... arguments) { at::_fused_adamw_(arguments...); });
  else
    kernel([](auto&&... arguments) { at::_fused_adam_(arguments...); });
}

}  // namespace levin::optim::detail
