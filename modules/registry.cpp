#include <levin/modules/registry.h>
#include <levin/modules/nn/image_classifier.h>
#include <levin/modules/nn/language_model.h>

namespace levin {
namespace {

/// levin's own modules.
void register_builtins(Registry<ModuleKind::Entry>& registry) {
  add_module<nn::ImageClassifier>(registry, "ImageClassifier", "Classifies images: mlp, mlp_bn, lenet or resnet18");
  add_module<nn::LanguageModel>(registry, "LanguageModel", "A small GPT: predicts the next token of a text");
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
