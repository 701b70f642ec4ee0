#include <levin/modules/nn/language_model.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/multinomial.h>
#include <levin/core/system/error.h>
#include <levin/modules/nn/configured_optimizer.h>
#include <levin/modules/training_modes.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace levin::nn {
namespace {

at::Tensor mean_cross_entropy(const at::Tensor& logits, const at::Tensor& target) {
  return at::cross_entropy_loss(logits.flatten(0, 1), target.flatten());
}

/// Samples one token [batch, 1] for each row of `logits` [batch, vocabulary].
at::Tensor draw(const at::Tensor& logits, const GenerateOptions& options) {
  if (options.temperature == 0) return logits.argmax(1, /*keepdim=*/true);
  const at::Tensor scaled = logits.to(at::kFloat).div(options.temperature);
  if (!options.top_k) return at::multinomial(scaled.softmax(1), 1, /*replacement=*/false, options.generator);
  const auto [likeliest, tokens] = scaled.topk(std::min(*options.top_k, scaled.size(1)), 1);
  return tokens.gather(1, at::multinomial(likeliest.softmax(1), 1, /*replacement=*/false, options.generator));
}

/// Returns the metric of one loader; the metrics of the other loaders keep their addresses.
metrics::Perplexity& of_loader(std::deque<metrics::Perplexity>& all, int64_t loader) {
  const auto index = static_cast<size_t>(loader);
  while (all.size() <= index) all.emplace_back();
  return all[index];
}

}  // namespace

LanguageModel::LanguageModel(Options options_) : options(std::move(options_)), net(nullptr) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  net = register_module("net", GPT(options.gpt));
  load_initial_weights(*this, options.initial);
}

at::Tensor LanguageModel::generate(const at::Tensor& prompt, int64_t tokens, const GenerateOptions& how) {
  if (prompt.dim() != 2 || prompt.size(1) == 0)
    throw UsageError("generate: expected a prompt [batch, time] of at least one token, got ", prompt.sizes());
  if (!(how.temperature >= 0)) throw UsageError("generate: temperature is at least 0, got ", how.temperature);
  if (how.top_k && *how.top_k < 1) throw UsageError("generate: top_k is at least 1, got ", *how.top_k);
  const at::NoGradGuard no_grad;
  const EvalMode eval_mode(*net);
  at::Tensor all = prompt.to(device(), at::kLong);
  for (int64_t i = 0; i < tokens; ++i) {
    const int64_t time = std::min(all.size(1), options.gpt.block_size);
    const at::Tensor logits = forward(all.narrow(1, all.size(1) - time, time)).select(1, -1);
    all = at::cat({all, draw(logits, how)}, 1);
  }
  return all;
}

StepOutput LanguageModel::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor& target = batch.target();
  const at::Tensor loss = net->loss(batch.input(), target);
  log("train_loss", loss, {.prog_bar = true, .batch_size = target.numel()});
  return {loss, target.numel()};
}

void LanguageModel::validation_step(const Batch& batch, int64_t /*batch_idx*/) {
  evaluate(batch, "val", of_loader(val_perplexity_, dataloader_idx()));
}

void LanguageModel::test_step(const Batch& batch, int64_t /*batch_idx*/) {
  evaluate(batch, "test", of_loader(test_perplexity_, dataloader_idx()));
}

void LanguageModel::evaluate(const Batch& batch, const std::string& stage, metrics::Perplexity& perplexity) {
  const at::Tensor& target = batch.target();
  const at::Tensor logits = forward(batch.input());
  log(stage + "_loss", mean_cross_entropy(logits, target), {.prog_bar = true, .batch_size = target.numel()});
  perplexity.update(logits, target);
  log(stage + "_perplexity", perplexity);
}

Batch LanguageModel::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  return Batch(forward(batch.input()).select(1, -1).softmax(1));
}

std::map<std::string, BatchFunction> LanguageModel::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(forward(batch.input())); }}};
}

OptimizerConfig LanguageModel::configure_optimizers() {
  return configured_optimizer(options.optimizer, options.lr_scheduler, parameters());
}

}  // namespace levin::nn
