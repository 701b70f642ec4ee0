#include <levin/modules/transformers/load_with_adapter.h>
#include <levin/modules/adapters/late_weights.h>

#include <optional>

namespace levin::nn {

void load_with_adapter(torch::nn::Module& module, const InitialWeights& options,
                       const std::function<void()>& load_base) {
  std::optional<adapters::LateWeights> late;
  // A file of weights needs those of the folder before, other adapters may read them.
  if (options.adapter.class_name() == "LoRA" && options.weights.empty()) late.emplace();
  load_base();
  load_initial_weights(module, options);
  if (late) late->fill_rest();
}

}  // namespace levin::nn
