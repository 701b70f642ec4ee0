#include <levin/trainer/precision/mixed_precision.h>
#include <levin/modules/autocast.h>

namespace levin {

MixedPrecision::MixedPrecision(c10::DeviceType device, at::ScalarType dtype) : device_(device), dtype_(dtype) {
  if (dtype == at::kHalf) scaler_.emplace();
}

void MixedPrecision::forward_context(c10::function_ref<void()> step) const {
  // No cache: a cast made in a step without gradients must not be reused by a step that needs them.
  const Autocast autocast(device_, dtype_, /*enabled=*/true, /*cache_enabled=*/false);
  step();
}

}  // namespace levin
