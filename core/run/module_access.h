#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace torch::nn {
class Module;
}

namespace levin {

class Batch;
class LightningModule;
enum class ModuleMethod : int;
struct ModuleOverrides;
struct StepContext;
namespace data {
class DataModule;
struct DataOverrides;
}  // namespace data

/// Access to the parts of modules and data modules that the trainer, make_module and the registries use, and that are
/// private for everybody else.
class ModuleAccess {
 public:
  using Factory = std::function<std::shared_ptr<LightningModule>()>;

  /// Sets the module's view of a run; null ends it.
  static void set_context(LightningModule& module, StepContext* context);
  /// Sets it at the beginning of a run. Throws levin::UsageError if the module is in a run already.
  static void enter_run(LightningModule& module, StepContext& context);
  /// Returns a pointer that expires when the module is destroyed.
  static std::weak_ptr<const void> lifetime(const LightningModule& module);
  /// Calls configure_model, unless it was called before for this module.
  static void configure_model_once(LightningModule& module);
  /// Returns a function that makes another module of the same class and arguments; it is empty unless make_module or
  /// the registry made this module.
  static const Factory& factory(const LightningModule& module);
  /// Returns what the class overrides if make_module or the registry made this module.
  static const std::optional<ModuleOverrides>& known_overrides(const LightningModule& module);
  static void remember(LightningModule& module, Factory factory, ModuleOverrides overrides);
  /// Returns the modes that the current evaluation will restore; empty outside an evaluation.
  static const std::vector<std::pair<torch::nn::Module*, bool>>& training_modes(const LightningModule& module);

  /// Returns what the class overrides if the registry made this data module.
  static const std::optional<data::DataOverrides>& known_overrides(const data::DataModule& data_module);
  static void remember(data::DataModule& data_module, data::DataOverrides overrides);
};

}  // namespace levin
