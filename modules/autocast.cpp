#include <levin/modules/autocast.h>
#include <ATen/autocast_mode.h>
#include <levin/core/system/error.h>

namespace levin {

namespace autocast = at::autocast;

namespace {

constexpr std::array kDevicesWithState = {at::kCPU, at::kCUDA};

/// Ends one level of nesting; the outermost level also drops the cached casts.
void leave_nesting() {
  if (autocast::decrement_nesting() == 0) autocast::clear_cache();
}

at::ScalarType checked(c10::DeviceType device, std::optional<at::ScalarType> dtype) {
  if (!autocast::is_autocast_available(device))
    throw UsageError("Autocast: LibTorch has none for ", c10::DeviceTypeName(device, /*lower_case=*/true),
                     "; use cpu or cuda");
  const at::ScalarType chosen = dtype.value_or(autocast::get_autocast_dtype(device));
  if (chosen != at::kHalf && chosen != at::kBFloat16)
    throw UsageError("Autocast: expected float16 or bfloat16, got ", c10::toString(chosen));
  return chosen;
}

}  // namespace

Autocast::Autocast(c10::DeviceType device, std::optional<at::ScalarType> dtype, bool enabled,
                   std::optional<bool> cache_enabled)
    : device_(device) {
  const at::ScalarType chosen = checked(device, dtype);
  enabled_before_ = autocast::is_autocast_enabled(device);
  cache_before_ = autocast::is_autocast_cache_enabled();
  dtype_before_ = autocast::get_autocast_dtype(device);
  autocast::set_autocast_enabled(device, enabled);
  autocast::set_autocast_dtype(device, chosen);
  autocast::increment_nesting();
  if (cache_enabled) autocast::set_autocast_cache_enabled(*cache_enabled);
}

Autocast::~Autocast() {
  leave_nesting();
  autocast::set_autocast_enabled(device_, enabled_before_);
  autocast::set_autocast_dtype(device_, dtype_before_);
  autocast::set_autocast_cache_enabled(cache_before_);
}

AutocastState::AutocastState() : cache_enabled_(autocast::is_autocast_cache_enabled()) {
  for (size_t i = 0; i < devices_.size(); ++i)
    devices_[i] = {autocast::is_autocast_enabled(kDevicesWithState[i]),
                   autocast::get_autocast_dtype(kDevicesWithState[i])};
}

void AutocastState::restore() const {
  for (size_t i = 0; i < devices_.size(); ++i) {
    autocast::set_autocast_enabled(kDevicesWithState[i], devices_[i].enabled);
    autocast::set_autocast_dtype(kDevicesWithState[i], devices_[i].dtype);
  }
  autocast::set_autocast_cache_enabled(cache_enabled_);
}

AutocastGuard::AutocastGuard(const AutocastState& state) {
  autocast::increment_nesting();
  state.restore();
}

AutocastGuard::~AutocastGuard() {
  leave_nesting();
  before_.restore();
}

}  // namespace levin
