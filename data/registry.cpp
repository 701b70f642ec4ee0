#include <levin/data/registry.h>

namespace levin::data {
namespace {

/// levin's own data modules. Each is one line: `add_data_module<MNIST>(registry, "MNIST", "...")`.
void register_builtins(Registry<DataModuleKind::Entry>& /*registry*/) {}

}  // namespace

Registry<DataModuleKind::Entry>& DataModuleKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("data module", "data");
    register_builtins(made);
    return made;
  }();
  return registry;
}

}  // namespace levin::data
