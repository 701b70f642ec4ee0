#include <levin/modules/transformers/objectives/dpo.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_sigmoid.h>
#include <levin/core/system/error.h>
#include <levin/data/ignored_target.h>
#include <levin/modules/adapters/adapted_weight.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/training_modes.h>
#include <levin/modules/transformers/causal_lm.h>

#include <utility>
#include <vector>

namespace levin::nn {
namespace {

/// Takes a module's adapters away while it lives.
class WithoutAdapters {
 public:
  explicit WithoutAdapters(const torch::nn::Module& module) : layers_(adapted_layers(module)) {
    for (const AdaptedLayer& layer : layers_) adapters::detach(layer.weight);
  }
  ~WithoutAdapters() {
    for (const AdaptedLayer& layer : layers_) adapters::attach(layer.weight, layer.adapter);
  }
  WithoutAdapters(const WithoutAdapters&) = delete;
  WithoutAdapters& operator=(const WithoutAdapters&) = delete;

 private:
  std::vector<AdaptedLayer> layers_;
};

void check_adapted(const torch::nn::Module& model) {
  const auto refuse = [](const auto&... why) {
    throw UsageError("model.objective.reference: ", why...,
                     "; name the folder of the model from which training begins");
  };
  if (adapted_layers(model).empty()) refuse("the model has no adapter without which it would be the reference");
  for (const auto& item : model.named_parameters())
    if (item.value().requires_grad() && item.key().find(".lora_") == std::string::npos)
      refuse("beside the adapter, ", item.key(),
             " is trained whole, so that the model without the adapter changes too");
}

void check_pairs(const Batch& batch) {
  const at::Tensor &input = batch.input(), &target = batch.target();
  if (input.dim() == 3 && input.size(1) == 2 && target.sizes() == input.sizes()) return;
  throw UsageError("DPO: expected an input and a target [samples, 2, time], a better and a worse completion, got ",
                   input.sizes(), " and ", target.sizes(), "; the data are those of TextPreferences");
}

/// Returns the batch of twice as many sequences.
Batch flattened(const Batch& pairs) {
  Batch rows(pairs.input().flatten(0, 1), pairs.target().flatten(0, 1));
  if (pairs.contains("attention_mask")) rows.set("attention_mask", pairs["attention_mask"].flatten(0, 1));
  return rows;
}

/// Returns the log probability of the targets that count, [samples, 2].
at::Tensor log_probabilities(const at::Tensor& logits, const at::Tensor& target) {
  const at::Tensor wide = logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
  const at::Tensor losses = at::cross_entropy_loss(wide.flatten(0, 1), target.flatten().to(at::kLong), {},
                                                   at::Reduction::None, kIgnoredTarget);
  return -losses.view(target.sizes()).sum(1).view({-1, 2});
}

}  // namespace

DPO::DPO(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "model.objective");
  if (!options_.reference.empty()) reference_.emplace(options_.reference, "model.objective.reference");
}

at::Tensor DPO::reference_logits(CausalLM& model, const at::Tensor& tokens, const DecoderInputs& inputs) {
  if (reference_) return reference_->logits(model, tokens, inputs);
  check_adapted(model);
  const at::NoGradGuard no_grad;
  const EvalMode eval_mode(model);
  const WithoutAdapters without(model);
  return model.forward(tokens, inputs);
}

Objective::Result DPO::compute(CausalLM& model, const Batch& batch) {
  check_pairs(batch);
  const Batch rows = flattened(batch);
  const DecoderInputs inputs = CausalLM::inputs_of(rows);
  const at::Tensor known = log_probabilities(reference_logits(model, rows.input(), inputs), rows.target());
  const at::Tensor ratios = log_probabilities(model.forward(rows.input(), inputs), rows.target()) - known;
  const at::Tensor margin = options_.beta * (ratios.select(1, 0) - ratios.select(1, 1));
  at::Tensor losses = -at::log_sigmoid(margin);
  if (options_.label_smoothing > 0)
    losses = losses * (1 - options_.label_smoothing) - at::log_sigmoid(-margin) * options_.label_smoothing;
  const at::Tensor rewards = options_.beta * ratios.detach();
  return {.loss = losses.mean(),
          .weight = at::full({}, batch.input().size(0), at::TensorOptions(at::kLong)),
          .values = {{"rewards_chosen", rewards.select(1, 0).mean()},
                     {"rewards_rejected", rewards.select(1, 1).mean()},
                     {"rewards_margin", margin.detach().mean()},
                     {"rewards_accuracy", margin.detach().gt(0).to(at::kFloat).mean()}}};
}

}  // namespace levin::nn
