#include <levin/modules/metrics/engine/stat_scores.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <levin/core/system/error.h>

#include <utility>

namespace levin::metrics {
namespace {

at::Tensor and_counted(const at::Tensor& values, const at::Tensor& counted) {
  return counted.defined() ? values.logical_and(counted) : values;
}

}  // namespace

StatScores::StatScores(const char* metric, StatScoresOptions options) : options_(std::move(options)) {
  schema_of<StatScoresOptions>().check(&options_, metric);
  task_ = classification_task(metric, options_.task, options_.num_classes, options_.num_labels, options_.ignore_index);
  if (options_.top_k > 1 && (task_.kind != TaskKind::Multiclass || options_.top_k > task_.columns))
    throw UsageError(metric, ".top_k: expected 1, or for multiclass at most num_classes, got ", options_.top_k);
  const bool micro = task_.kind == TaskKind::Multiclass && options_.average == ClassAverage::Micro;
  const int64_t size = micro ? 1 : task_.columns;
  tp_ = add_state("tp", {size}, at::kLong);
  fp_ = add_state("fp", {size}, at::kLong);
  tn_ = add_state("tn", {size}, at::kLong);
  fn_ = add_state("fn", {size}, at::kLong);
}

at::Tensor StatScores::divide(const at::Tensor& numerator, const at::Tensor& denominator) const {
  return (numerator / denominator).masked_fill(denominator == 0, options_.zero_division);
}

void StatScores::update_inputs(at::TensorList inputs) {
  const ClassificationInput given = masked(task_, inputs);
  const Labels labels = to_labels(given.task, given.preds, given.target, options_.threshold, options_.top_k);
  task_.kind == TaskKind::Multiclass ? count_multiclass(labels) : count_binary(labels);
}

void StatScores::count_multiclass(const Labels& labels) {
  const at::Tensor right = and_counted(labels.preds == labels.target, labels.counted);
  const int64_t rows = labels.target.numel();
  at::Tensor found, predicted, actual, counted;
  if (options_.average == ClassAverage::Micro) {
    found = right.sum();
    counted = labels.counted.defined() ? labels.counted.sum() : at::full({}, rows, found.options());
    predicted = actual = counted;
    counted = counted * task_.columns;
  } else {
    found = count_indices(labels.target, right, task_.columns);
    predicted = count_indices(labels.preds, labels.counted, task_.columns);
    actual = count_indices(labels.target, labels.counted, task_.columns);
    counted = actual.sum();
  }
  sum(tp_).add_(found);
  sum(fp_).add_(predicted - found);
  sum(fn_).add_(actual - found);
  sum(tn_).add_(counted - predicted - actual + found);
}

void StatScores::count_binary(const Labels& labels) {
  const at::Tensor found = and_counted(labels.preds.logical_and(labels.target), labels.counted).sum(0);
  const at::Tensor predicted = and_counted(labels.preds, labels.counted).sum(0);
  const at::Tensor actual = and_counted(labels.target, labels.counted).sum(0);
  sum(tp_).add_(found);
  sum(fp_).add_(predicted - found);
  sum(fn_).add_(actual - found);
  const at::Tensor neither = found - predicted - actual;
  sum(tn_).add_(labels.counted.defined() ? neither + labels.counted.sum(0) : neither + labels.target.size(0));
}

at::Tensor StatScores::compute_value() const {
  const auto to_double = [&](size_t state) { return sum(state).to(at::kDouble); };
  return averaged({to_double(tp_), to_double(fp_), to_double(tn_), to_double(fn_)});
}

at::Tensor StatScores::averaged(const StatCounts& counts) const {
  if (task_.kind == TaskKind::Binary || options_.average == ClassAverage::Micro)
    return score({counts.tp.sum(), counts.fp.sum(), counts.tn.sum(), counts.fn.sum()});
  const at::Tensor values = score(counts);
  if (options_.average == ClassAverage::None) return values;
  const at::Tensor actual = counts.tp + counts.fn;
  at::Tensor weights = actual;
  if (options_.average == ClassAverage::Macro) {
    weights = at::full(values.sizes(), 1.0, values.options());
    // As torchmetrics has it.
    const at::Tensor seen = options_.top_k > 1 && skips_predicted_classes() ? actual : actual + counts.fp;
    if (task_.kind == TaskKind::Multiclass) weights = weights.masked_fill(seen == 0, 0);
  }
  const at::Tensor total = weights.sum();
  return ((weights * values).sum() / total).masked_fill(total == 0, 0);
}

}  // namespace levin::metrics
