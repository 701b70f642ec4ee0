#include <levin/modules/optim/engine/fused.h>
#include <ATen/Version.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/full.h>
#include <levin/core/system/error.h>

#include <cmath>
#include <optional>
#include <utility>

namespace levin::optim::detail {
namespace {

TensorList scaled(TensorList gradients, double multiplier) {
  return multiplier == 1 ? std::move(gradients) : TensorList(at::_foreach_mul(gradients, multiplier));
}

/// Returns `found_inf` as the kernels take it; unset if no step is skipped.
std::optional<at::Tensor> found_inf_of(const CapturedNumbers* numbers) {
  if (numbers == nullptr || !numbers->found_inf.defined()) return {};
  return numbers->found_inf;
}

/// Calls `kernel` with the learning rate: a number, or the tensor that a captured step reads.
template <class Kernel>
void with_rate(double lr, const CapturedNumbers* numbers, const Kernel& kernel) {
  if (numbers != nullptr)
    kernel(numbers->lr);
  else
    kernel(lr);
}

}  // namespace

double kernel_multiply_add(double a, double b, double c) {
  static const bool rounds_once = at::get_cpu_capability().rfind("AVX", 0) == 0;
  return rounds_once ? std::fma(b, c, a) : a + b * c;
}

void refuse_capture() {
  throw UsageError(
      "a step whose parameters differ in device, dtype or number of steps cannot be captured; put them into groups of "
      "their own, or set cuda_graphs to false");
}

void fused_sgd(const SGDOptions& options, double multiplier, FusedLists lists, const CapturedNumbers* numbers) {
  const bool first = lists.numbers.front() == 0;  // the momentum buffer holds nothing yet
  if (numbers != nullptr && first && options.momentum != 0) refuse_capture();
  if (options.momentum == 0) lists.state[0].clear();
  const TensorList gradients = scaled(std::move(lists.gradients), multiplier);
  with_rate(options.lr, numbers, [&](const auto& lr) {
    at::_fused_sgd_(lists.parameters, gradients, lists.state[0], options.weight_decay, options.momentum, lr,
                    options.dampening, options.nesterov, /*maximize=*/false, first, std::nullopt,
                    found_inf_of(numbers));
  });
}

void fused_adam(const AdamSettings& settings, double multiplier, FusedLists lists, const CapturedNumbers* numbers) {
  const TensorList gradients = scaled(std::move(lists.gradients), multiplier);
  const at::Tensor step = numbers != nullptr
                              ? numbers->step
                              : at::full({}, static_cast<double>(lists.step),
                                         at::TensorOptions(at::kFloat).device(lists.parameters.front().device()));
  const TensorList steps(lists.parameters.size(), step);
  if (!settings.amsgrad) lists.state[2].clear();
  const auto kernel = [&](auto&& fused) {
    with_rate(settings.lr, numbers, [&](const auto& lr) {
      fused(lists.parameters, gradients, lists.state[0], lists.state[1], lists.state[2], steps, lr, settings.beta1,
            settings.beta2, settings.weight_decay, settings.eps, settings.amsgrad, /*maximize=*/false, std::nullopt,
            found_inf_of(numbers));
    });
  };
  if (settings.decoupled)
    kernel([](auto&&... arguments) { at::_fused_adamw_(arguments...); });
  else
    kernel([](auto&&... arguments) { at::_fused_adam_(arguments...); });
}

void fused_adagrad(const AdagradOptions& options, double multiplier, FusedLists lists) {
  const TensorList gradients = scaled(std::move(lists.gradients), multiplier);
  const TensorList steps(lists.parameters.size(), at::full({}, static_cast<double>(lists.step), at::kFloat));
  at::_fused_adagrad_(lists.parameters, gradients, lists.state[0], steps, options.lr, options.lr_decay,
                      options.weight_decay, options.eps, /*maximize=*/false);
}

}  // namespace levin::optim::detail
