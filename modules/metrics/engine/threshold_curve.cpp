#include <levin/modules/metrics/engine/threshold_curve.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace levin::metrics {
namespace {

/// Counts of one column at each different score.
struct ScorePoints {
  CurveCounts counts = {};
  at::Tensor thresholds = {};
};

/// `target`: 1 for positives, -1 for what does not count.
ScorePoints points_of(const at::Tensor& scores, const at::Tensor& target) {
  const at::Tensor counted = target >= 0;
  const auto [falling, order] = scores.masked_select(counted).sort(0, /*descending=*/true);
  const at::Tensor is_positive = target.masked_select(counted).index_select(0, order) == 1;
  const at::Tensor positives = is_positive.cumsum(0), negatives = is_positive.logical_not().cumsum(0);
  const int64_t rest = std::max<int64_t>(falling.size(0) - 1, 0);
  const at::Tensor last = at::ones({falling.size(0) - rest}, falling.options().dtype(at::kBool));
  const at::Tensor ends =
      at::cat({falling.narrow(0, falling.size(0) - rest, rest) != falling.narrow(0, 0, rest), last});
  const at::Tensor places = ends.nonzero().flatten();
  ScorePoints points;
  points.thresholds = falling.index_select(0, places).to(at::kDouble);
  points.counts.tp = positives.index_select(0, places).to(at::kDouble);
  points.counts.fp = negatives.index_select(0, places).to(at::kDouble);
  points.counts.positives = is_positive.sum().to(at::kDouble);
  points.counts.negatives = falling.size(0) - points.counts.positives;
  return points;
}

at::Tensor padded(const at::Tensor& values, int64_t length) {
  return at::constant_pad_nd(values, {0, length - values.size(0)}, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

ThresholdCurve::ThresholdCurve(const char* metric, const ThresholdCurveOptions& options)
    : ScoreCurve(metric, {.task = options.task,
                          .thresholds = options.thresholds,
                          .num_classes = options.num_classes,
                          .num_labels = options.num_labels,
                          .ignore_index = options.ignore_index}) {}

std::vector<Curve> ThresholdCurve::curves() const {
  std::vector<Curve> curves;
  const int64_t columns = column_count();
  if (!is_exact()) {
    const CurveCounts counts = binned_counts();
    const at::Tensor thresholds = at::linspace(0, 1, counts.tp.size(0), counts.tp.options().dtype(at::kFloat));
    const bool only_first = columns > 1 && counts.positives.narrow(0, 1, columns - 1).sum().item<double>() == 0;
    for (int64_t i = 0; i < columns; ++i)
      curves.push_back(curve_of({.tp = counts.tp.select(1, i),
                                 .fp = counts.fp.select(1, i),
                                 .positives = counts.positives[i],
                                 .negatives = counts.negatives[i]},
                                thresholds.flip(0).to(at::kDouble), only_first));
    return curves;
  }
  const Scores scores = stored_scores();
  const bool only_first = columns > 1 && (scores.target.narrow(1, 1, columns - 1) == 1).sum().item<int64_t>() == 0;
  for (int64_t i = 0; i < columns; ++i) {
    const ScorePoints points = points_of(scores.preds.select(1, i), scores.target.select(1, i));
    curves.push_back(curve_of(points.counts, points.thresholds, only_first));
  }
  return curves;
}

at::Tensor ThresholdCurve::compute_value() const {
  const std::vector<Curve> all = curves();
  int64_t longest = 0;
  for (const Curve& curve : all) longest = std::max({longest, curve.x.size(0), curve.thresholds.size(0)});
  std::vector<at::Tensor> values;
  for (const Curve& curve : all)
    values.push_back(
        at::stack({padded(curve.x, longest), padded(curve.y, longest), padded(curve.thresholds, longest)}));
  return at::stack(values);
}

}  // namespace levin::metrics
