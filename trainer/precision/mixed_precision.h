#pragma once
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>
#include <levin/modules/optim/grad_scaler.h>
#include <levin/trainer/precision/precision_plugin.h>

#include <optional>

namespace levin {

/// 16-mixed and bf16-mixed: float32 weights, steps under autocast; float16 also uses a GradScaler.
class MixedPrecision final : public PrecisionPlugin {
 public:
  MixedPrecision(c10::DeviceType device, at::ScalarType dtype);

  const char* name() const override { return dtype_ == at::kHalf ? "16-mixed" : "bf16-mixed"; }
  void forward_context(c10::function_ref<void()> step) const override;
  optim::GradScaler* scaler() override { return scaler_ ? &*scaler_ : nullptr; }

 private:
  c10::DeviceType device_;
  at::ScalarType dtype_;
  std::optional<optim::GradScaler> scaler_ = {};
};

}  // namespace levin
