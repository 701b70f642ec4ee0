#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/class_choice.h>
#include <levin/core/options/registry.h>
#include <levin/data/batch.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::nn {

class CausalLM;

/// What a CausalLM learns in place of the next token: the option `objective`, such as `{"class": "DPO", "beta": 0.1}`.
class Objective {
 public:
  struct Result {
    at::Tensor loss = {};    ///< a scalar; has a graph where the model's logits have one
    at::Tensor weight = {};  ///< one integer: the number of tokens or pairs of which the loss is the mean
    /// More to log, each a scalar without a graph, by the end of its name: `accuracy` is logged as `val_accuracy`.
    std::vector<std::pair<std::string, at::Tensor>> values = {};
  };

  virtual ~Objective() = default;
  /// Throws levin::UsageError for a batch that the objective does not take.
  virtual Result compute(CausalLM& model, const Batch& batch) = 0;
};

/// The registry of objectives by name.
struct ObjectiveKind {
  using Entry = std::function<std::unique_ptr<Objective>(const void* options)>;
  static Registry<Entry>& registry();
};

/// Adds objective class `O`, which is constructed from its nested `Options`.
template <class O>
bool add_objective(Registry<ObjectiveKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  registry.add<OptionsOf<O>>(name, help, [](const void* options) { return make_registered<O>(options); });
  return true;
}

}  // namespace levin::nn
