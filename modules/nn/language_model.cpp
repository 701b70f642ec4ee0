#include <levin/modules/nn/language_model.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <levin/modules/nn/configured_optimizer.h>
#include <levin/modules/nn/metric_of_loader.h>
#include <levin/modules/training_modes.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace levin::nn {
namespace {

at::Tensor mean_cross_entropy(const at::Tensor& logits, const at::Tensor& target) {
  return at::cross_entropy_loss(logits.flatten(0, 1), target.flatten());
}

}  // namespace

LanguageModel::LanguageModel(Options options_) : options(std::move(options_)), net(nullptr) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  net = register_module("net", GPT(options.gpt));
  load_initial_weights(*this, options.initial);
  named_metrics_.set(*this, "LanguageModel", options.measured, {"loss", "perplexity"}, /*counts_in_training=*/false);
  named_metrics_.use({.learned = metrics::Learned::Tokens, .columns = options.gpt.vocab_size});
}

at::Tensor LanguageModel::generate(const at::Tensor& prompt, int64_t tokens, const GenerateOptions& how) {
  check_generation(prompt, how);
  const at::NoGradGuard no_grad;
  const EvalMode eval_mode(*net);
  at::Tensor all = prompt.to(device(), at::kLong);
  RowEnds ends(how);
  for (int64_t i = 0; i < tokens && !ends.all(); ++i) {
    const int64_t time = std::min(all.size(1), options.gpt.block_size);
    const at::Tensor logits = forward(all.narrow(1, all.size(1) - time, time)).select(1, -1);
    all = at::cat({all, ends.padded(draw_tokens(logits, how))}, 1);
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
  evaluate(batch, "val", metric_of_loader(val_perplexity_, dataloader_idx()));
}

void LanguageModel::test_step(const Batch& batch, int64_t /*batch_idx*/) {
  evaluate(batch, "test", metric_of_loader(test_perplexity_, dataloader_idx()));
}

void LanguageModel::evaluate(const Batch& batch, const std::string& stage, metrics::Perplexity& perplexity) {
  const at::Tensor& target = batch.target();
  const at::Tensor logits = forward(batch.input());
  log(stage + "_loss", mean_cross_entropy(logits, target), {.prog_bar = true, .batch_size = target.numel()});
  perplexity.update(logits, target);
  log(stage + "_perplexity", perplexity);
  named_metrics_.log(stage, logits, target);
}

Batch LanguageModel::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  return Batch(forward(batch.input()).select(1, -1).softmax(1));
}

std::map<std::string, BatchFunction> LanguageModel::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(forward(batch.input())); }}};
}

OptimizerConfig LanguageModel::configure_optimizers() {
  return configured_optimizer(options.optimizer, options.lr_scheduler, *this, options.groups);
}

}  // namespace levin::nn
