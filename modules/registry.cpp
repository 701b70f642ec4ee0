#include <levin/modules/registry.h>

namespace levin {
namespace {

/// levin's own modules. Each is one line: `add_module<ImageClassifier>(registry, "ImageClassifier", "...")`.
void register_builtins(Registry<ModuleKind::Entry>& /*registry*/) {}

}  // namespace

Registry<ModuleKind::Entry>& ModuleKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("module", "models");
    register_builtins(made);
    return made;
  }();
  return registry;
}

}  // namespace levin
