#pragma once
#include <ATen/core/Generator.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/metrics/perplexity.h>
#include <levin/modules/nn/gpt.h>
#include <levin/modules/nn/initial_weights.h>
#include <levin/modules/optim/registry.h>

#include <deque>
#include <optional>
#include <string>

namespace levin::nn {

struct LanguageModelOptions {
  GPTOptions gpt = {};          // its options are flattened into this struct
  InitialWeights initial = {};  // its options are flattened into this struct
  Part<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"AdamW"}, "Optimizer");
  Part<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
};

struct GenerateOptions {
  double temperature = 1;             ///< divides the logits: below 1 likely tokens come more often; 0: the likeliest
  std::optional<int64_t> top_k = {};  ///< draw from the k likeliest tokens only
  std::optional<at::Generator> generator = {};  ///< of the module's device; unset: the default one
};

/// Learns to predict the next token: a small GPT on `input` [batch, time] and `target` [batch, time], both int64.
///
/// Logs `train_loss`, the mean cross-entropy of a token in nats; `val_loss` and `val_perplexity`; `test_loss` and
/// `test_perplexity`. A batch counts by its tokens. Parameters are named `net.token_embedding.weight` and on.
class LanguageModel : public LightningModule {
 public:
  using Options = LanguageModelOptions;

  LanguageModel() : LanguageModel(Options{}) {}
  /// Throws levin::UsageError for bad options and a weights file that is missing or does not fit.
  explicit LanguageModel(Options options);

  /// Logits [batch, time, vocab_size] of the token after each of `tokens` [batch, time]; throws as GPT's.
  at::Tensor forward(const at::Tensor& tokens) { return net->forward(tokens); }

  /// `prompt` [batch, time], int64, with `tokens` tokens more, each drawn given the last block_size before it:
  /// [batch, time + tokens] on the module's device. Runs in eval mode without gradients and puts the mode back.
  /// Throws levin::UsageError for an empty prompt and bad options.
  at::Tensor generate(const at::Tensor& prompt, int64_t tokens, const GenerateOptions& how = {});

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  /// The probability of each token to follow the sequence, `input` [batch, vocab_size].
  Batch predict_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) override;
  OptimizerConfig configure_optimizers() override;

  Options options;
  GPT net;

 private:
  void evaluate(const Batch& batch, const std::string& stage, metrics::Perplexity& perplexity);

  std::deque<metrics::Perplexity> val_perplexity_ = {}, test_perplexity_ = {};  ///< one for each loader
};

}  // namespace levin::nn
