#include <levin/modules/transformers/token_classifier.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dropout.h>
#include <levin/core/system/error.h>
#include <levin/data/ignored_target.h>
#include <levin/modules/nn/metric_of_loader.h>

#include <utility>

namespace levin::nn {
namespace {

void check_tags(const at::Tensor& logits, const at::Tensor& target) {
  if (target.sizes() != logits.sizes().slice(0, 2) || target.is_floating_point())
    throw UsageError("data: expected a target of classes ", logits.sizes().slice(0, 2), ", one for each token, got ",
                     target.sizes(), " of ", target.scalar_type());
}

}  // namespace

TokenClassifier::TokenClassifier(Options options_)
    : EncoderClassifier("TokenClassifier"), options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  const Folder folder = open(options.encoder);
  set_labels(options.classes, folder.config);
  std::vector<std::string> names = {"classifier"};
  if (folder.config.token_head_is_sequence_head) {
    head_.emplace(*this, folder.config);
    for (const std::string& name : head_->names()) names.push_back(name);
  }
  output_ = register_module("classifier", torch::nn::Linear(folder.config.hidden, label_count()));
  load(folder, {.head = names, .replaces_head = has_other_labels(folder.config)});
  named_metrics_.set(*this, "TokenClassifier", options.measured, {"loss", "acc", "f1"});
  named_metrics_.use(
      {.learned = metrics::Learned::Multiclass, .columns = label_count(), .ignore_index = kIgnoredTarget});
}

at::Tensor TokenClassifier::logits_of(const at::Tensor& hidden) {
  const double rate = config().token_dropout;
  const at::Tensor x = head_ ? head_->forward(hidden) : hidden;
  return output_->forward(rate > 0 ? at::dropout(x, rate, is_training()) : x);
}

at::Tensor TokenClassifier::forward(const at::Tensor& tokens, const EncoderInputs& inputs) {
  return logits_of(encoder->forward(tokens, inputs));
}

at::Tensor TokenClassifier::loss(const at::Tensor& logits, const at::Tensor& target) const {
  check_tags(logits, target);
  const at::Tensor wide = logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
  try {
    const at::Tensor sum = at::cross_entropy_loss(wide.flatten(0, 1), target.flatten().to(at::kLong), {},
                                                  at::Reduction::Sum, kIgnoredTarget);
    return sum / target.ne(kIgnoredTarget).sum().clamp_min(1);
  } catch (const c10::IndexError&) {
    if (!target.is_cpu()) throw;
    throw UsageError("data: a target is a class up to ", target.max().item<int64_t>(), ", and the model has ",
                     label_count(), " classes; set model.num_labels");
  }
}

StepOutput TokenClassifier::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor& target = batch.target();
  const at::Tensor logits = logits_of(hidden_of(batch));
  const at::Tensor value = loss(logits, target);
  const at::Tensor counted = target.ne(kIgnoredTarget).sum();
  // On a GPU the exact number would wait for the device; it is the weight of the step, which stays there.
  const int64_t logged = counted.is_cpu() ? counted.item<int64_t>() : target.numel();
  log("train_loss", value, {.prog_bar = true, .batch_size = logged});
  named_metrics_.log("train", logits.movedim(2, 1), target);
  return {value, counted};
}

void TokenClassifier::validation_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "val", val_); }

void TokenClassifier::test_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "test", test_); }

void TokenClassifier::evaluate(const Batch& batch, const std::string& stage, Metrics& metrics) {
  const at::Tensor logits = logits_of(hidden_of(batch));
  const at::Tensor& target = batch.target();
  const at::Tensor value = loss(logits, target);
  const int64_t counted = target.ne(kIgnoredTarget).sum().item<int64_t>();
  log(stage + "_loss", value, {.prog_bar = true, .batch_size = counted});
  named_metrics_.log(stage, logits.movedim(2, 1), target);
  if (label_count() < 2) return;
  metrics::StatScoresOptions how = {
      .task = metrics::TaskKind::Multiclass, .num_classes = label_count(), .ignore_index = kIgnoredTarget};
  auto& accuracy = metric_of_loader(metrics.accuracy, dataloader_idx(), how);
  how.average = metrics::ClassAverage::Macro;
  auto& f1 = metric_of_loader(metrics.f1, dataloader_idx(), how);
  const at::Tensor found = logits.argmax(2);
  accuracy.update(found, target);
  f1.update(found, target);
  log(stage + "_acc", accuracy, {.prog_bar = true});
  log(stage + "_f1", f1);
}

Batch TokenClassifier::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  return Batch(logits_of(hidden_of(batch)).to(at::kFloat).softmax(2));
}

std::map<std::string, BatchFunction> TokenClassifier::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(logits_of(hidden_of(batch))); }}};
}

}  // namespace levin::nn
