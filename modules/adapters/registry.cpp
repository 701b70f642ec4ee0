#include <levin/modules/adapters/registry.h>
#include <levin/modules/adapters/lora.h>

#include <utility>

namespace levin {
namespace {

/// The registry's form of add_lora.
class LoRA {
 public:
  using Options = LoRAOptions;
  explicit LoRA(Options options) : options_(std::move(options)) {}
  void add_to(torch::nn::Module& module) const { add_lora(module, options_); }

 private:
  Options options_;
};

}  // namespace

Registry<AdapterKind::Entry>& AdapterKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("adapter", "adapters");
    add_adapter<LoRA>(made, "LoRA", "Low-rank factors beside frozen linear layers");
    return made;
  }();
  return registry;
}

}  // namespace levin
