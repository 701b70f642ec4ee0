#pragma once
#include <levin/core/options/choice.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/metrics/exact_match.h>
#include <levin/modules/metrics/named_metrics.h>
#include <levin/modules/metrics/perplexity.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/nn/sampling.h>
#include <levin/modules/optim/registry.h>
#include <levin/modules/parallel/tensor/column_linear.h>
#include <levin/modules/transformers/decoder.h>
#include <levin/modules/transformers/objectives/objective.h>
#include <levin/modules/transformers/pretrained_dtype.h>
#include <levin/modules/transformers/saves_pretrained.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {
namespace nn {

struct LossHead;

struct CausalLMOptions {
  std::string folder =
      LEVIN_OPTION(folder, "", "Folder with config.json and *.safetensors, as transformers' save_pretrained writes it");
  Choice<PretrainedDtype> dtype =
      LEVIN_OPTION(dtype, PretrainedDtype::Float32, "Dtype of the weights; file: that of the files");
  std::vector<std::string> ignored_fields = LEVIN_OPTION(
      ignored_fields, {}, "Fields of config.json that levin does not know and that change nothing that is computed");
  std::string save_to =
      LEVIN_OPTION(save_to, "", "Folder that gets the trained model, for transformers too, when fit ends; empty: none");
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"AdamW"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};  // its options are flattened into this struct
  ClassChoice<ObjectiveKind> objective = LEVIN_OPTION(
      objective, {}, "What is learned in place of the next token: DPO or Distillation; unset: the next token");
  int64_t cross_entropy_block_size =
      LEVIN_OPTION(cross_entropy_block_size, 0,
                   "Tokens whose logits are in memory at a time, in training and validation, unless `metrics` are "
                   "named: fewer take less memory; 0: those of the whole batch",
                   {.min = 0});
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
};

struct PromptOptions {
  at::Tensor attention_mask = {};  ///< [batch, time]: 0 for the padding on the left of shorter prompts
  bool use_cache = true;           ///< keep keys and values; false computes them again for each token
  /// Sees the tokens [batch, time + new ones] after each new one; false ends the generation.
  std::function<bool(const at::Tensor& tokens)> after_token = {};
};

/// A decoder-only transformer from a folder of Hugging Face: Llama, Qwen, Gemma and others (decoder_families()). Learns
/// to predict the next token on `input` [batch, time] and `target` [batch, time], both int64; targets of -100 do not
/// count. A batch may also have `attention_mask` and `position_ids` (see DecoderInputs).
///
/// Logs `train_loss`, the mean cross-entropy of a target that counts, in nats; `val_loss`, `val_perplexity` and
/// `val_exact_match`, the share of samples whose targets are all the most likely tokens;
/// `test_loss` and `test_perplexity`; and the option `metrics`; with an `objective` the losses are its own, and its
/// values stand in place of the perplexity. A batch is weighted by its targets that count. Parameters have the names
/// that they have in transformers: `model.layers.0.self_attn.q_proj.weight`. Those of linear layers are [out, in], also
/// of GPT-2, whose files have them transposed.
class CausalLM : public LightningModule, public SavesPretrained {
 public:
  using Options = CausalLMOptions;

  /// Reads the folder; the weights are copied from the mapped files. Throws levin::UsageError for bad options, for a
  /// folder that lacks files, for a model type, fields and values of config.json that levin does not compute, and for
  /// weights that do not fit.
  explicit CausalLM(Options options);

  /// Returns the logits [batch, time, vocabulary] of the token after each of `tokens` [batch, time]; throws as Decoder.
  at::Tensor forward(const at::Tensor& tokens, const DecoderInputs& inputs = {});
  /// Returns the mean cross entropy, one float32, of the targets that count; 0 if none does. The logits of a divided
  /// vocabulary are not gathered. With the option `cross_entropy_block_size` it has one backward, as blocked_loss says;
  /// while operators are recorded the option does nothing. Throws as forward.
  at::Tensor loss(const at::Tensor& tokens, const at::Tensor& target, const DecoderInputs& inputs = {});

  /// Extends `prompt` [batch, time], int64, by at most `tokens` sampled tokens; returns [batch, time + new tokens] on
  /// the module's device. It ends when all rows have ended with a stop token: unset, those are the end-of-text tokens
  /// of the folder's generation_config.json. Runs in eval mode without gradients and restores the mode. Throws
  /// levin::UsageError for an empty prompt, bad options, and more tokens than a table of positions has.
  at::Tensor generate(const at::Tensor& prompt, int64_t tokens, const GenerateOptions& how = {},
                      const PromptOptions& of_prompt = {});

  void save_pretrained(const std::filesystem::path& folder, uint64_t most_bytes = kMostShardBytes) override;

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// Returns the probability of each token to follow the sequence, as `input` [batch, vocabulary]: after the last token
  /// that is no padding.
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  /// `forward`: the logits of the token after each one.
  std::map<std::string, BatchFunction> export_functions() override;
  OptimizerConfig configure_optimizers() override;
  /// Writes `save_to`.
  void on_fit_end(Run& run) override;

  /// Puts `lengths` [batch] in the place of an `attention_mask` whose padding is at the end alone: no token attends to
  /// what comes after it, and attention is quicker without a mask.
  Batch on_before_batch_transfer(Batch batch, int64_t dataloader_idx) override;

  /// Returns what a batch has besides tokens.
  static DecoderInputs inputs_of(const Batch& batch);
  const DecoderConfig& config() const { return decoder->config; }
  /// Returns the end-of-text tokens of generation_config.json, or else of config.json.
  const std::vector<int64_t>& stop_tokens() const { return stop_tokens_; }

  Options options;
  std::shared_ptr<Decoder> decoder = {};
  parallel::ColumnLinear head{nullptr};  ///< null if tied to the embedding

 private:
  /// One of each per loader.
  struct Measures {
    std::deque<metrics::Perplexity> perplexity = {};
    std::deque<metrics::ExactMatch> exact_match = {};
  };

  at::Tensor head_output(const at::Tensor& hidden);
  at::Tensor own_logits(const at::Tensor& hidden);
  LossHead loss_head();
  void evaluate(const Batch& batch, const std::string& stage, Measures& measures);
  Objective::Result objective_of(const Batch& batch, const std::string& stage);
  void read_generation_config(const std::filesystem::path& folder);
  GenerateOptions with_stop_tokens(GenerateOptions how) const;

  std::string config_text_ = {};
  std::unique_ptr<Objective> objective_ = {};
  std::vector<int64_t> stop_tokens_ = {};
  std::optional<int64_t> pad_token_ = {};
  Measures val_ = {}, test_ = {};
  metrics::NamedMetrics named_metrics_ = {};
};

}  // namespace nn
}  // namespace levin
