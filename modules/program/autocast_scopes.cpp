#include <levin/modules/program/autocast_scopes.h>

namespace levin::program {

void AutocastScopes::change(const AutocastRegions& regions) {
  size_t same = 0;
  for (const Scope& scope : scopes_) {
    if (same == regions.size() || scope.region != regions[same].get()) break;
    ++same;
  }
  leave_to(same);
  for (size_t i = same; i < regions.size(); ++i) {
    const AutocastRegion& region = *regions[i];
    Scope& scope = scopes_.emplace_back(&region);
    const c10::DeviceType device = region.device == exported_on_ ? device_ : region.device;
    // One for a device that PyTorch did not have at export is off.
    if (region.enabled)
      scope.autocast.emplace(device, region.dtype);
    else if (device == device_)
      scope.autocast.emplace(device, std::nullopt, /*enabled=*/false);
  }
}

void AutocastScopes::leave_to(size_t depth) {
  while (scopes_.size() > depth) scopes_.pop_back();
}

}  // namespace levin::program
