#include <levin/trainer/precision/make_precision.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>
#include <levin/core/system/error.h>
#include <levin/trainer/precision/master_weights_precision.h>
#include <levin/trainer/precision/registry.h>

namespace levin {
namespace {

constexpr const char* kOption = "trainer.precision";

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

}  // namespace

std::unique_ptr<PrecisionPlugin> make_precision(const Precision& precision, bool master_weights, c10::Device device,
                                                bool sets_default_dtype) {
  std::unique_ptr<PrecisionPlugin> plugin;
  if (master_weights)
    plugin = std::make_unique<MasterWeightsPrecision>();
  else
    plugin = precision.make(kOption, PrecisionParts{.device = device, .sets_default_dtype = sets_default_dtype});
  if (precision == Precision()) return plugin;
  const at::ScalarType weights =
      master_weights ? at::kHalf : PrecisionKind::registry().entry(precision.name(), kOption).weights;
  try {
    try_out(*plugin, weights, device);
  } catch (const c10::Error& error) {
    throw UsageError(kOption, ": ", plugin->name(), " cannot run on ", device, " with this LibTorch (",
                     error.what_without_backtrace(), "); use bf16-mixed or 32-true");
  }
  return plugin;
}

}  // namespace levin
