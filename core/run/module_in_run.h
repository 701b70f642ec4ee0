#pragma once
#include <memory>

namespace levin {

struct StepContext;

/// A module's view of its run, and a sign of life for those that refer to the module. A copy of a module is another
/// module, which is in no run.
class ModuleInRun {
 public:
  ModuleInRun() = default;
  ModuleInRun(const ModuleInRun& /*other*/) {}
  ModuleInRun& operator=(const ModuleInRun& /*other*/) { return *this; }

  StepContext* context = nullptr;

  /// Returns a pointer that expires when the module is destroyed.
  std::weak_ptr<const void> lifetime() const { return alive_; }

 private:
  std::shared_ptr<const char> alive_ = std::make_shared<const char>();
};

}  // namespace levin
