#pragma once
#include <levin/modules/autocast.h>
#include <levin/modules/program/exported_program.h>

#include <list>
#include <optional>

namespace levin::program {

/// The autocast regions that a thread is in while it runs nodes. It leaves them all when it is destroyed.
class AutocastScopes {
 public:
  /// Regions of the device that the program was exported on follow the model to `device`.
  AutocastScopes(c10::DeviceType exported_on, c10::DeviceType device) : exported_on_(exported_on), device_(device) {}
  ~AutocastScopes() { leave_to(0); }
  AutocastScopes(const AutocastScopes&) = delete;
  AutocastScopes& operator=(const AutocastScopes&) = delete;

  /// Leaves and enters regions until the thread is in these. Throws levin::UsageError if LibTorch has no autocast for a
  /// region's device and dtype.
  void be_in(const AutocastRegions& regions) {
    if (!regions.empty() || !scopes_.empty()) change(regions);
  }

 private:
  struct Scope {
    explicit Scope(const AutocastRegion* region_) : region(region_) {}
    const AutocastRegion* region;
    std::optional<Autocast> autocast = {};
  };
  void change(const AutocastRegions& regions);
  void leave_to(size_t depth);

  c10::DeviceType exported_on_, device_;
  std::list<Scope> scopes_ = {};
};

}  // namespace levin::program
