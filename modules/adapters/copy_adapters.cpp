#include <levin/modules/adapters/copy_adapters.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/adapters/target_layers.h>

#include <utility>
#include <vector>

namespace levin::adapters {
namespace {

/// Takes the adapters' modules away while it lives; their layers still compute with them.
class WithoutAdapterModules {
 public:
  explicit WithoutAdapterModules(std::vector<AdaptedLayer> layers) : layers_(std::move(layers)) {
    for (const AdaptedLayer& one : layers_) remove_adapter(one);
  }
  ~WithoutAdapterModules() {
    for (const AdaptedLayer& one : layers_) register_adapter(one);
  }
  WithoutAdapterModules(const WithoutAdapterModules&) = delete;
  WithoutAdapterModules& operator=(const WithoutAdapterModules&) = delete;

 private:
  std::vector<AdaptedLayer> layers_;
};

}  // namespace

void copy_adapters(const torch::nn::Module& module, torch::nn::Module& copy) {
  const std::vector<AdaptedLayer> layers = adapted_layers(module);
  if (layers.empty() || !adapted_layers(copy).empty()) return;
  const auto parts = copy.named_modules("", /*include_self=*/false);
  for (const AdaptedLayer& one : layers) {
    const auto* const part = parts.find(one.name);
    const at::Tensor weight = part != nullptr ? weight_of(**part) : at::Tensor();
    if (!weight.defined())
      throw UsageError("a copy of ", module.name(), " has no layer ", one.name, " for an adapter; give the module its ",
                       "adapters in its constructor, or in what makes it (levin::make_module)");
    AdaptedLayer target = {.name = one.name, .layer = *part, .weight = weight};
    target.weight.set_requires_grad(false);
    target.adapter = add_adapter(target, one.adapter->shape);
    if (one.adapter->held) hold(target, one.adapter->held->format, one.adapter->held->double_quant);
  }
}

std::shared_ptr<torch::nn::Module> clone_adapted(const torch::nn::Module& module, std::optional<c10::Device> device) {
  std::vector<AdaptedLayer> layers = adapted_layers(module);
  if (layers.empty()) return module.clone(device);
  for (const AdaptedLayer& one : layers)
    if (one.adapter->held)
      throw UsageError(module.name(), " cannot be cloned: the weight of ", one.name, " is held as ",
                       Choice<BaseFormat>(one.adapter->held->format).word(),
                       "; make the module with levin::make_module<M>(arguments...)");
  std::shared_ptr<torch::nn::Module> clone;
  {
    const WithoutAdapterModules bare(layers);
    clone = module.clone(device);
  }
  copy_adapters(module, *clone);
  return clone;
}

}  // namespace levin::adapters
