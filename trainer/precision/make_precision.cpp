#include <levin/trainer/precision/make_precision.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>
#include <levin/core/system/error.h>
#include <levin/trainer/precision/master_weights_precision.h>
#include <levin/trainer/precision/mixed_precision.h>
#include <levin/trainer/precision/true_precision.h>

#include <string>

namespace levin {
namespace {

/// Runs the operations that most modules use, forward and backward, to find out whether the device supports them.
void try_out(const PrecisionPlugin& plugin, at::ScalarType weights, c10::Device device) {
  const auto options = at::TensorOptions(weights).device(device);
  const at::Tensor kernel = at::ones({2, 1, 3, 3}, options).requires_grad_();
  const at::Tensor weight = at::ones({2, 8}, options).requires_grad_();
  at::Tensor out;
  plugin.forward_context(
      [&] { out = at::linear(at::conv2d(at::ones({1, 1, 4, 4}, options), kernel).flatten(1), weight).sum(); });
  out.backward();
}

std::unique_ptr<PrecisionPlugin> make_plugin(const std::string& name, bool master_weights, c10::DeviceType device,
                                             bool sets_default_dtype) {
  if (master_weights) return std::make_unique<MasterWeightsPrecision>();
  if (name == "64-true") return std::make_unique<TruePrecision>("64-true", at::kDouble, sets_default_dtype);
  if (name == "16-true") return std::make_unique<TruePrecision>("16-true", at::kHalf, sets_default_dtype);
  if (name == "bf16-true") return std::make_unique<TruePrecision>("bf16-true", at::kBFloat16, sets_default_dtype);
  if (name == "16-mixed") return std::make_unique<MixedPrecision>(device, at::kHalf);
  if (name == "bf16-mixed") return std::make_unique<MixedPrecision>(device, at::kBFloat16);
  return std::make_unique<FullPrecision>();
}

at::ScalarType dtype_of_weights(const std::string& name, bool master_weights) {
  if (master_weights || name == "16-true") return at::kHalf;
  if (name == "bf16-true") return at::kBFloat16;
  return name == "64-true" ? at::kDouble : at::kFloat;
}

}  // namespace

std::unique_ptr<PrecisionPlugin> make_precision(const Precision& precision, bool master_weights, c10::Device device,
                                                bool sets_default_dtype) {
  std::unique_ptr<PrecisionPlugin> plugin =
      make_plugin(precision.name(), master_weights, device.type(), sets_default_dtype);
  if (precision == Precision()) return plugin;
  try {
    try_out(*plugin, dtype_of_weights(precision.name(), master_weights), device);
  } catch (const c10::Error& error) {
    throw UsageError("trainer.precision: ", plugin->name(), " cannot run on ", device, " with this LibTorch (",
                     error.what_without_backtrace(), "); use bf16-mixed or 32-true");
  }
  return plugin;
}

}  // namespace levin
