#include <levin/data/registry.h>
#include <levin/data/datasets/mnist.h>
#include <levin/data/datasets/synthetic_digits.h>

namespace levin::data {
namespace {

/// levin's own data modules.
void register_builtins(Registry<DataModuleKind::Entry>& registry) {
  add_data_module<MNIST>(registry, "MNIST", "Handwritten digits, from idx files");
  add_data_module<FashionMNIST>(registry, "FashionMNIST", "Articles of clothing, from idx files");
  add_data_module<SyntheticDigits>(registry, "SyntheticDigits", "Digits drawn and distorted by code; needs no files");
}

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
