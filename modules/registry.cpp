#include <levin/modules/registry.h>
#include <levin/modules/detection/fcos.h>
#include <levin/modules/images/pretrained_image_classifier.h>
#include <levin/modules/images/unet.h>
#include <levin/modules/nn/image_classifier.h>
#include <levin/modules/nn/language_model.h>
#include <levin/modules/nn/tabular.h>
#include <levin/modules/program_module.h>
#include <levin/modules/script_module.h>
#include <levin/modules/transformers/causal_lm.h>
#include <levin/modules/transformers/sentence_encoder.h>
#include <levin/modules/transformers/sequence_classifier.h>
#include <levin/modules/transformers/token_classifier.h>

namespace levin {
namespace {

/// Registers levin's own modules.
void register_builtins(Registry<ModuleKind::Entry>& registry) {
  add_module<nn::CausalLM>(registry, "CausalLM",
                           "A decoder-only transformer (Llama, Qwen, Gemma, ...) from a folder of Hugging Face");
  add_module<nn::FCOS>(registry, "FCOS", "Detects objects in images: boxes with classes, by a network without anchors");
  add_module<nn::ImageClassifier>(registry, "ImageClassifier", "Classifies images: mlp, mlp_bn, lenet or resnet18");
  add_module<nn::LanguageModel>(registry, "LanguageModel", "A small GPT: predicts the next token of a text");
  add_module<nn::MLPClassifier>(registry, "MLPClassifier",
                                "Predicts classes from tables, with embeddings of categories");
  add_module<nn::MLPRegressor>(registry, "MLPRegressor", "Predicts numbers from tables, with embeddings of categories");
  add_module<nn::PretrainedImageClassifier>(
      registry, "PretrainedImageClassifier",
      "Classifies images by a network (ViT, ResNet, ConvNeXt, MobileNet) from a folder of transformers or timm");
  add_module<ProgramModule>(registry, "ProgramModule",
                            "A model that Python exported by torch.export, trained without Python");
  add_module<ScriptModule>(registry, "ScriptModule",
                           "A model that Python saved as TorchScript, trained without Python");
  add_module<nn::SentenceEncoder>(
      registry, "SentenceEncoder",
      "Makes vectors of texts by an encoder (BERT, MPNet, ...) from a folder of Hugging Face");
  add_module<nn::SequenceClassifier>(
      registry, "SequenceClassifier",
      "Classifies texts by an encoder (BERT, RoBERTa, ...) from a folder of Hugging Face");
  add_module<nn::TokenClassifier>(registry, "TokenClassifier",
                                  "Classifies the words of texts by an encoder from a folder of Hugging Face");
  add_module<nn::UNet>(registry, "UNet", "Segments images: finds the class of each pixel");
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
