#pragma once
#include <levin/modules/lightning_module.h>

#include <exception>
#include <utility>

namespace levin {

/// Gives a module back the modes that it had before an evaluation, also if the evaluation throws.
class ModesRestored {
 public:
  using Hook = void (LightningModule::*)();

  /// `hook` restores the modes. `module` must outlive the object.
  ModesRestored(LightningModule& module, Hook hook) : module_(&module), hook_(hook) {}
  ~ModesRestored() {
    try {
      restore();
    } catch (const std::exception&) {
      // The exception that ended the evaluation is on its way.
    }
  }
  ModesRestored(const ModesRestored&) = delete;
  ModesRestored& operator=(const ModesRestored&) = delete;

  /// Restores the modes now.
  void restore() {
    if (LightningModule* const module = std::exchange(module_, nullptr)) (module->*hook_)();
  }

 private:
  LightningModule* module_;
  Hook hook_;
};

}  // namespace levin
