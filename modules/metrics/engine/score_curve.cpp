#include <levin/modules/metrics/engine/score_curve.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/nansum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>

#include <tuple>
#include <utility>

namespace levin::metrics {
namespace {

/// Cumulative counts over descending scores, [columns, N] int64; equal scores all get the count after the last of them.
at::Tensor counts_after_ties(const at::Tensor& matches, const at::Tensor& last_of_equal) {
  const at::Tensor counts = matches.cumsum(1);
  // Counts never decrease, so the maximum of the completed groups is the count of the latest one.
  return std::get<0>(counts.masked_fill(last_of_equal.logical_not(), 0).cummax(1));
}

/// Converts [N, 1] classes to [N, columns] of 1 (this class), 0 and -1 (not counted).
at::Tensor one_against_rest(const at::Tensor& target, int64_t columns) {
  const at::Tensor matches = (target == at::arange(columns, target.options())).to(at::kChar);
  return matches.masked_fill(target < 0, -1);
}

/// Returns the mean over the columns whose value is not NaN, weighted by `weights`; NaN if there are none.
at::Tensor macro(const at::Tensor& values) { return at::nansum(values) / values.isnan().logical_not().sum(); }

at::Tensor weighted(const at::Tensor& values, const at::Tensor& support) {
  const at::Tensor weights = support.masked_fill(values.isnan(), 0);
  const at::Tensor total = weights.sum();
  return (at::nansum(values * weights) / total).masked_fill(total == 0, 0);
}

}  // namespace

ScoreCurve::ScoreCurve(const char* metric, ScoreCurveOptions options) : options_(std::move(options)) {
  schema_of<ScoreCurveOptions>().check(&options_, metric);
  task_ = classification_task(metric, options_.task, options_.num_classes, options_.num_labels, options_.ignore_index);
  if (options_.average == ClassAverage::Micro && task_.kind == TaskKind::Multiclass)
    throw UsageError(metric, ".average: micro is for multilabel; expected macro, weighted or none for multiclass");
  if (is_exact()) {
    preds_ = add_list_state("preds");
    target_ = add_list_state("target");
  } else {
    positives_ = add_state("positives", {task_.columns, *options_.thresholds + 1}, at::kLong);
    negatives_ = add_state("negatives", {task_.columns, *options_.thresholds + 1}, at::kLong);
  }
}

void ScoreCurve::update_inputs(at::TensorList inputs) {
  const ClassificationInput given = masked(task_, inputs);
  const Scores scores = to_scores(given.task, given.preds, given.target);
  if (!is_exact()) return add_to_histograms(scores);
  append(preds_, scores.preds);
  append(target_, scores.target);
}

void ScoreCurve::add_to_histograms(const Scores& scores) {
  const int64_t thresholds = *options_.thresholds, bins = thresholds + 1;
  const at::Tensor target =
      task_.kind == TaskKind::Multiclass ? one_against_rest(scores.target, task_.columns) : scores.target;
  // In float32 first, as torchmetrics computes the thresholds.
  const at::Tensor edges =
      at::linspace(0, 1, thresholds, scores.preds.options().dtype(at::kFloat)).to(scores.preds.scalar_type());
  const at::Tensor bin = at::bucketize(scores.preds.contiguous(), edges, /*out_int32=*/false, /*right=*/true);
  const at::Tensor index = (bin + at::arange(task_.columns, bin.options()) * bins).flatten();
  const auto count = [&](int64_t value) {
    return count_indices(index, (target == value).flatten(), task_.columns * bins).view({task_.columns, bins});
  };
  sum(positives_).add_(count(1));
  sum(negatives_).add_(count(0));
}

Scores ScoreCurve::stored_scores() const {
  const at::Tensor scores = rows(preds_), target = rows(target_);
  if (scores.defined())
    return {scores, task_.kind == TaskKind::Multiclass ? one_against_rest(target, task_.columns) : target};
  const at::Tensor none = at::zeros({0, task_.columns}, at::TensorOptions(at::kFloat).device(device()));
  return {none, none.to(at::kChar)};
}

CurveCounts ScoreCurve::exact_counts() const {
  auto [scores, target] = stored_scores();
  if (scores.size(0) == 0) {
    const int64_t columns = is_micro() ? 1 : task_.columns;
    const auto options = at::TensorOptions(at::kDouble).device(device());
    const at::Tensor none = at::zeros({1, columns}, options);
    return {none, none, none[0], none[0]};
  }
  if (is_micro()) {
    scores = scores.reshape({-1, 1});
    target = target.reshape({-1, 1});
  }
  scores = scores.t().contiguous();  // contiguous columns: sorting is twice as fast
  const auto [falling, order] = scores.sort(1, /*descending=*/true);
  const at::Tensor of_falling = target.t().gather(1, order);
  const int64_t rest = scores.size(1) - 1;
  const at::Tensor last_of_equal = at::cat({falling.narrow(1, 1, rest) != falling.narrow(1, 0, rest),
                                            at::ones({scores.size(0), 1}, scores.options().dtype(at::kBool))},
                                           1);
  const at::Tensor tp = counts_after_ties(of_falling == 1, last_of_equal).to(at::kDouble).t();
  const at::Tensor fp = counts_after_ties(of_falling == 0, last_of_equal).to(at::kDouble).t();
  return {tp, fp, tp.select(0, -1), fp.select(0, -1)};
}

CurveCounts ScoreCurve::binned_counts() const {
  const auto above = [&](const at::Tensor& histogram) {
    const at::Tensor counts = is_micro() ? histogram.sum(0, /*keepdim=*/true) : histogram;
    return counts.narrow(1, 1, *options_.thresholds).flip(1).cumsum(1).t().to(at::kDouble);
  };
  const auto total = [&](const at::Tensor& histogram) {
    const at::Tensor counts = histogram.sum(1).to(at::kDouble);
    return is_micro() ? counts.sum(0, /*keepdim=*/true) : counts;
  };
  return {above(sum(positives_)), above(sum(negatives_)), total(sum(positives_)), total(sum(negatives_))};
}

at::Tensor ScoreCurve::compute_value() const {
  const CurveCounts counts = is_exact() ? exact_counts() : binned_counts();
  const at::Tensor each = values(counts);
  if (each.numel() == 1) return each.reshape({});
  if (options_.average == ClassAverage::None) return each;
  return options_.average == ClassAverage::Macro ? macro(each) : weighted(each, counts.positives);
}

}  // namespace levin::metrics
