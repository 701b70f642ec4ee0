#include <levin/modules/transformers/sequence_classifier.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/mse_loss.h>
#include <levin/core/system/error.h>
#include <levin/modules/nn/class_loss.h>
#include <levin/modules/nn/metric_of_loader.h>
#include <levin/modules/transformers/pooling.h>
#include <levin/modules/transformers/register_path.h>

#include <utility>

namespace levin::nn {
namespace {

/// Sums and means of losses are float32 at least.
at::Tensor wide_logits(const at::Tensor& logits) {
  return logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
}

void check_target_shape(const at::Tensor& logits, const at::Tensor& target, const char* meaning) {
  if (target.sizes() == logits.sizes()) return;
  throw UsageError("data: the model makes ", logits.sizes(), " ", meaning, ", and the target is ", target.sizes(),
                   "; set model.num_labels, or model.problem_type");
}

}  // namespace

SequenceClassifier::SequenceClassifier(Options options_)
    : EncoderClassifier("SequenceClassifier"), options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  const Folder folder = open(options.encoder);
  const SequenceHeadConfig& head = folder.config.sequence_head;
  set_labels(options.classes, folder.config);
  head_.emplace(*this, folder.config);
  output_ = register_path(*this, head.output, torch::nn::Linear(folder.config.hidden, label_count()));
  std::vector<std::string> names = head_->names();
  names.push_back(head.output);
  load(folder, {.head = names, .replaces_head = has_other_labels(folder.config)});
  named_metrics_.set(*this, "SequenceClassifier", options.measured, {"loss", "acc", "f1", "mae"});
  // Otherwise the first target tells.
  const bool is_known = options.problem_type != ProblemType::Auto || config().problem_type != ProblemType::Auto;
  if (is_known || label_count() == 1) named_metrics_.use(task_of(problem_of({})));
}

at::Tensor SequenceClassifier::logits_of(const at::Tensor& hidden, const at::Tensor& attention_mask) {
  const SequenceHeadConfig& head = config().sequence_head;
  const auto dropped = [&](const at::Tensor& x) {
    return head.dropout > 0 ? at::dropout(x, head.dropout, is_training()) : x;
  };
  at::Tensor x = pooled(hidden, attention_mask, {.kind = head.takes_mean ? PoolingKind::Mean : PoolingKind::Cls});
  if (head.drops_before) x = dropped(x);
  return output_->forward(dropped(head_->forward(x)));
}

at::Tensor SequenceClassifier::logits_of(const Batch& batch) {
  return logits_of(hidden_of(batch), batch.contains("attention_mask") ? batch["attention_mask"] : at::Tensor());
}

at::Tensor SequenceClassifier::forward(const at::Tensor& tokens, const EncoderInputs& inputs) {
  return logits_of(encoder->forward(tokens, inputs), inputs.attention_mask);
}

ProblemType SequenceClassifier::problem_of(const at::Tensor& target) const {
  if (options.problem_type != ProblemType::Auto) return options.problem_type;
  if (config().problem_type != ProblemType::Auto) return config().problem_type;
  if (label_count() == 1) return ProblemType::Regression;
  return target.defined() && target.is_floating_point() ? ProblemType::MultiLabel : ProblemType::SingleLabel;
}

at::Tensor SequenceClassifier::loss(const at::Tensor& logits, const at::Tensor& target) const {
  const at::Tensor wide = wide_logits(logits);
  const ProblemType problem = problem_of(target);
  if (problem == ProblemType::SingleLabel) return cross_entropy_of(wide, target, "set model.num_labels");
  if (problem == ProblemType::MultiLabel) {
    check_target_shape(logits, target, "logits");
    return at::binary_cross_entropy_with_logits(wide, target.to(wide.scalar_type()));
  }
  const at::Tensor numbers = label_count() == 1 ? wide.squeeze(1) : wide;
  const at::Tensor wanted = label_count() == 1 && target.dim() == 2 ? target.squeeze(1) : target;
  check_target_shape(numbers, wanted, "numbers");
  return at::mse_loss(numbers, wanted.to(wide.scalar_type()));
}

metrics::MetricTask SequenceClassifier::task_of(ProblemType problem) const {
  if (problem == ProblemType::Regression) return {.learned = metrics::Learned::Numbers, .columns = label_count()};
  if (label_count() == 1) return {.learned = metrics::Learned::Binary};
  const bool has_several = problem == ProblemType::MultiLabel;
  return {.learned = has_several ? metrics::Learned::Multilabel : metrics::Learned::Multiclass,
          .columns = label_count()};
}

void SequenceClassifier::log_metrics(const std::string& stage, const at::Tensor& logits, const at::Tensor& target) {
  const ProblemType problem = problem_of(target);
  named_metrics_.use(task_of(problem));
  if (problem == ProblemType::Regression)
    named_metrics_.log(stage, logits.reshape(target.sizes()), target.to(logits.scalar_type()));
  else
    named_metrics_.log(stage, problem == ProblemType::MultiLabel ? logits.sigmoid() : logits,
                       problem == ProblemType::MultiLabel ? target.gt(0.5).to(at::kLong) : target);
}

StepOutput SequenceClassifier::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor logits = logits_of(batch);
  at::Tensor value = loss(logits, batch.target());
  log("train_loss", value, {.prog_bar = true});
  if (named_metrics_.are_logged("train")) log_metrics("train", wide_logits(logits.detach()), batch.target());
  return value;
}

void SequenceClassifier::validation_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "val", val_); }

void SequenceClassifier::test_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "test", test_); }

void SequenceClassifier::evaluate(const Batch& batch, const std::string& stage, Metrics& metrics) {
  const at::Tensor logits = wide_logits(logits_of(batch));
  const at::Tensor& target = batch.target();
  log(stage + "_loss", loss(logits, target), {.prog_bar = true});
  if (named_metrics_.are_logged(stage)) log_metrics(stage, logits, target);
  const ProblemType problem = problem_of(target);
  if (problem == ProblemType::Regression) {
    auto& error = metric_of_loader(metrics.error, dataloader_idx());
    error.update(logits.reshape(target.sizes()), target.to(logits.scalar_type()));
    return log(stage + "_mae", error);
  }
  metrics::StatScoresOptions how = {.task = metrics::TaskKind::Multiclass, .num_classes = label_count()};
  if (problem == ProblemType::MultiLabel && label_count() > 1)
    how = {.task = metrics::TaskKind::Multilabel, .num_labels = label_count()};
  if (label_count() == 1) how = {.task = metrics::TaskKind::Binary};
  auto& accuracy = metric_of_loader(metrics.accuracy, dataloader_idx(), how);
  if (label_count() > 1) how.average = metrics::ClassAverage::Macro;
  auto& f1 = metric_of_loader(metrics.f1, dataloader_idx(), how);
  const bool has_several = problem == ProblemType::MultiLabel;
  const at::Tensor found = has_several ? logits.sigmoid() : logits;
  const at::Tensor wanted = has_several ? target.gt(0.5).to(at::kLong) : target;
  accuracy.update(found, wanted);
  f1.update(found, wanted);
  log(stage + "_acc", accuracy, {.prog_bar = true});
  log(stage + "_f1", f1);
}

Batch SequenceClassifier::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor logits = wide_logits(logits_of(batch));
  const at::Tensor target = batch.contains("target") ? batch.target() : at::Tensor();
  const ProblemType problem = problem_of(target);
  if (problem == ProblemType::Regression) return Batch(logits);
  return Batch(problem == ProblemType::MultiLabel ? logits.sigmoid() : logits.softmax(1));
}

std::map<std::string, BatchFunction> SequenceClassifier::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(logits_of(batch)); }}};
}

std::string SequenceClassifier::config_text() const {
  const std::string problem = options.problem_type == ProblemType::Auto ? "" : options.problem_type.word();
  return config_with_labels("ForSequenceClassification", problem);
}

}  // namespace levin::nn
