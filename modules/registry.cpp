#include <levin/modules/registry.h>
#include <levin/modules/nn/image_classifier.h>

namespace levin {
namespace {

/// levin's own modules.
void register_builtins(Registry<ModuleKind::Entry>& registry) {
  add_module<nn::ImageClassifier>(registry, "ImageClassifier", "Classifies images of digits: mlp, mlp_bn or lenet");
}

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
