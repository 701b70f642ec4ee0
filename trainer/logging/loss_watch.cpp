#include <levin/trainer/logging/loss_watch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/zeros.h>
#include <levin/trainer/logging/cpu_scalar.h>

#include <cmath>

namespace levin {

void LossWatch::see(const at::Tensor& loss, int64_t step) {
  if (first_step_ || !loss.defined() || loss.numel() != 1) return;
  if (loss.is_cpu()) {
    if (!std::isfinite(read_cpu_scalar(loss))) first_step_ = step;
    return;
  }
  const at::NoGradGuard no_grad;
  if (!on_device_.defined()) on_device_ = at::zeros({}, loss.options().dtype(at::kLong));
  // masked_fill_ instead of where, which would copy the number to the device.
  const at::Tensor as_before = at::isfinite(loss.detach().reshape({})).logical_or_(on_device_);
  on_device_.masked_fill_(as_before.logical_not(), step);
}

void LossWatch::read() {
  if (first_step_ || !on_device_.defined()) return;
  if (const auto step = on_device_.item<int64_t>(); step > 0) first_step_ = step;  // host sync
}

}  // namespace levin
