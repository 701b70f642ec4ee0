#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/metrics/named_metrics.h>
#include <levin/modules/metrics/perplexity.h>
#include <levin/modules/nn/gpt.h>
#include <levin/modules/nn/grouped_parameters.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/nn/sampling.h>
#include <levin/modules/optim/registry.h>

#include <deque>
#include <string>

namespace levin::nn {

struct LanguageModelOptions {
  GPTOptions gpt = {};          // its options are flattened into this struct
  InitialWeights initial = {};  // its options are flattened into this struct
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"AdamW"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
  ParameterGroups groups = {};           // its options are flattened into this struct
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
};

/// Learns to predict the next token: a small GPT on `input` [batch, time] and `target` [batch, time], both int64.
///
/// Logs `train_loss`, the mean cross-entropy of a token in nats; `val_loss` and `val_perplexity`; `test_loss` and
/// `test_perplexity`; and the option `metrics`. A batch is weighted by its number of tokens. Parameters are named
/// `net.token_embedding.weight` etc.
class LanguageModel : public LightningModule {
 public:
  using Options = LanguageModelOptions;

  LanguageModel() : LanguageModel(Options{}) {}
  /// Throws levin::UsageError for bad options and a weights file that is missing or does not fit.
  explicit LanguageModel(Options options);

  /// Returns the logits [batch, time, vocab_size] of the token after each of `tokens` [batch, time]; throws as GPT's
  /// forward.
  at::Tensor forward(const at::Tensor& tokens) { return net->forward(tokens); }

  /// Extends `prompt` [batch, time], int64, by `tokens` sampled tokens, each conditioned on the last block_size tokens
  /// before it; returns [batch, time + tokens] on the module's device, fewer if all rows end with a stop token before.
  /// Runs in eval mode without gradients and restores the mode. Throws levin::UsageError for an empty prompt and bad
  /// options.
  at::Tensor generate(const at::Tensor& prompt, int64_t tokens, const GenerateOptions& how = {});

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// Returns the probability of each token to follow the sequence, as `input` [batch, vocab_size].
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  /// `forward`: the logits of the token after each one.
  std::map<std::string, BatchFunction> export_functions() override;
  OptimizerConfig configure_optimizers() override;

  Options options;
  GPT net;

 private:
  void evaluate(const Batch& batch, const std::string& stage, metrics::Perplexity& perplexity);

  std::deque<metrics::Perplexity> val_perplexity_ = {}, test_perplexity_ = {};  ///< one per loader
  metrics::NamedMetrics named_metrics_ = {};
};

}  // namespace levin::nn
