// Metrics with inputs other than preds and target: weights, masks, one tensor or several.
#include <ATen/ATen.h>
#include <levin/core/run/batch_counts.h>
#include <levin/modules/metrics/accuracy.h>
#include <levin/modules/metrics/auroc.h>
#include <levin/modules/metrics/confusion_matrix.h>
#include <levin/modules/metrics/mean.h>
#include <levin/modules/metrics/mean_error.h>
#include <levin/modules/metrics/metric_collection.h>

#include <limits>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::UsageError;

namespace {

namespace m = levin::metrics;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double value(const m::Metric& metric) { return metric.compute().item<double>(); }

/// A user's own metric of four tensors: the share of boxes that hold their point.
class Hits final : public m::Cloneable<Hits> {
 public:
  Hits() : hits_(add_state("hits", {}, at::kLong)), count_(add_state("count", {}, at::kLong)) {}

 private:
  void update_inputs(at::TensorList inputs) override {
    if (inputs.size() != 4) throw UsageError("Hits: expected left, right, point and mask, got ", inputs.size());
    sum(hits_).add_(((inputs[0] <= inputs[2]).logical_and(inputs[2] < inputs[1])).logical_and(inputs[3]).sum());
    sum(count_).add_(inputs[3].sum());
  }
  at::Tensor compute_value() const override { return sum(hits_).to(at::kDouble) / sum(count_); }

  size_t hits_, count_;
};

}  // namespace

TEST_CASE("a user's metric takes any number of tensors, alone and in a collection") {
  const at::Tensor left = at::tensor({0., 0., 5.}), right = at::tensor({1., 1., 9.}), point = at::tensor({.5, 2., 6.});
  const at::Tensor mask = at::tensor({1, 1, 0}).to(at::kBool);
  Hits hits;
  CHECK(hits(left, right, point, mask).item<double>() == 0.5);
  hits.update(left, right, point, mask.logical_not());
  CHECK(std::abs(value(hits) - 2. / 3) < 1e-12);
  CHECK(contains(error_text<UsageError>([&] { hits.update(left, right); }),
                 "expected left, right, point and mask, got 2"));
  m::MetricCollection both{{{"a", Hits()}, {"b", Hits()}}, {.prefix = "val_"}};
  both.update(left, right, point, mask);
  CHECK(both.compute()[1].first == "val_b");
  CHECK(both.compute()[1].second.item<double>() == 0.5);
}

TEST_CASE("errors are weighed, and what is masked out may be anything") {
  const at::Tensor preds = at::tensor({1., 2., kNaN}), target = at::tensor({0., 4., 0.});
  m::MeanSquaredError squared;
  squared.update(preds, target, at::tensor({3., 1., 0.}));
  CHECK(value(squared) == (3 * 1 + 1 * 4) / 4.);
  m::MeanAbsoluteError absolute;
  absolute.update(preds, target, at::tensor({1, 1, 0}).to(at::kBool));
  absolute.update(at::tensor({3.}), at::tensor({0.}));
  CHECK(value(absolute) == (1 + 2 + 3) / 3.);
  m::MeanAbsoluteError of_rows({.num_outputs = 2});
  of_rows.update(at::tensor({1., 2., 5., 5.}).view({2, 2}), at::zeros({2, 2}), at::tensor({1, 0}));
  CHECK(at::equal(of_rows.compute(), at::tensor({1., 2.}, at::kDouble)));
  CHECK(contains(error_text<UsageError>([&] { squared.update(preds, target, at::ones({2})); }),
                 "MeanSquaredError: expected weights [3], one for each error or row, got [2]"));
  CHECK(contains(error_text<UsageError>([&] { squared.update(preds); }), "got 1 tensors"));
}

TEST_CASE("only classes that the mask selects are counted") {
  const at::Tensor target = at::tensor({0, 1, 2, 1}), preds = at::tensor({0, 1, 1, 0});
  const at::Tensor mask = at::tensor({1, 1, 1, 0}).to(at::kBool);
  m::Accuracy accuracy({.task = "multiclass", .num_classes = 3});
  accuracy.update(preds, target, mask);
  CHECK(std::abs(value(accuracy) - 2. / 3) < 1e-12);
  m::ConfusionMatrix matrix({.task = "multiclass", .num_classes = 3});
  matrix.update(preds, target, mask);
  CHECK(matrix.compute().sum().item<int64_t>() == 3);
  m::AUROC auroc({.task = "binary"});
  auroc.update(at::tensor({.1, .9, .8}), at::tensor({0, 1, 0}), at::tensor({1, 1, 0}).to(at::kBool));
  CHECK(value(auroc) == 1);
  CHECK(contains(error_text<UsageError>([&] { accuracy.update(preds, target, mask.to(at::kFloat)); }),
                 "Accuracy: expected a bool mask shaped as target, [4], got Float [4]"));
  // With an ignore_index, mask and index both exclude elements.
  m::Accuracy ignoring({.task = "multiclass", .num_classes = 3, .ignore_index = 2});
  ignoring.update(preds, target, mask);
  CHECK(value(ignoring) == 1);
}

TEST_CASE("Mean gives the mean of values, with and without weights") {
  m::Mean mean;
  CHECK(mean(at::tensor({1., 3.})).item<double>() == 2);
  mean.update(at::tensor({10., kNaN}), at::tensor({2., 0.}));
  CHECK(value(mean) == (1 + 3 + 20) / 4.);
  m::Mean other;
  other.update(at::tensor({6.}));
  mean.merge(other);
  CHECK(value(mean) == 30 / 5.);
  CHECK(contains(error_text<UsageError>([&] { mean.update(at::ones({2}), at::ones({3})); }), "Mean: expected weights"));
}

TEST_CASE("a metric of preds and target names itself if it gets more arguments") {
  struct Plain final : m::Cloneable<Plain> {
    void update_states(const at::Tensor&, const at::Tensor&) override {}
    at::Tensor compute_value() const override { return at::zeros({}); }
  } plain;
  CHECK(contains(error_text<UsageError>([&] { plain.update(at::ones({2}), at::ones({2}), at::ones({2})); }),
                 "takes two tensors, preds and target; update was given 3"));
}

TEST_CASE("a batch that does not count leaves a metric as it was, and still has its batch value") {
  m::MeanSquaredError error;
  error.update(at::ones({2}), at::zeros({2}));
  levin::batch_counts() = false;
  error.update(at::full({4}, 9.0), at::zeros({4}));
  const double of_batch = error(at::full({4}, 3.0), at::zeros({4})).item<double>();
  levin::batch_counts() = true;
  CHECK(of_batch == 9);
  CHECK(value(error) == 1);
  error.update(at::full({2}, 2.0), at::zeros({2}));
  CHECK(value(error) == 2.5);
}
