// Every metric against torchmetrics, on random and on degenerate data.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/modules/metrics/metric_cases.h"
#include "tests/modules/metrics/reference.h"

using metric_cases::Case;
using metric_cases::Json;

namespace {

ReferenceRequest request_of(const std::vector<Case>& cases) {
  ReferenceRequest request{.kind = "metrics", .cases = Json::array()};
  for (const auto& [name, batches] : metric_cases::data()) {
    request.data[name] = levin::State::list();
    for (const auto& [preds, target] : batches) request.data[name].push_back(levin::State::list({preds, target}));
  }
  for (const Case& one : cases) request.cases.push_back({one.metric, one.options, one.data});
  return request;
}

const bool kRandom = add_reference("random", [] { return request_of(metric_cases::random_cases()); });
const bool kDegenerate = add_reference("degenerate", [] { return request_of(metric_cases::degenerate_cases()); });

at::Tensor to_tensor(const Json& expected) {
  std::vector<double> values;
  for (const Json& value : expected.at("values"))
    values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  return at::tensor(values, at::kDouble).reshape(expected.at("shape").get<std::vector<int64_t>>());
}

/// Returns the difference, relative for values above 1, because torchmetrics computes in float32.
double error_of(const at::Tensor& value, const at::Tensor& expected) {
  const double size = expected.numel() == 0 ? 1 : expected.abs().nan_to_num(0).max().item<double>();
  return metric_cases::difference(value, expected) / std::max(1.0, size);
}

at::Tensor computed(const Case& one) {
  const auto metric = metric_cases::make(one);
  metric_cases::update(*metric, metric_cases::data().at(one.data));
  return metric->compute();
}

}  // namespace

TEST_CASE("metrics equal torchmetrics' on random data in several batches") {
  const auto expected = reference("random");
  if (!expected) return;
  double largest = 0;
  for (size_t i = 0; i < metric_cases::random_cases().size(); ++i) {
    const Case& one = metric_cases::random_cases()[i];
    INFO(to_text(one) << ": expected " << (*expected)[i].dump());
    const at::Tensor value = computed(one);
    INFO("got " << value);
    const double error = error_of(value, to_tensor((*expected)[i]));
    CHECK(error < 1e-6);
    largest = std::max(largest, error);
  }
  CHECK(expected->size() > 400);
  CHECK(largest > 0);  // float64 here, float32 there
}

TEST_CASE("metrics of degenerate data equal torchmetrics', or follow docs/metrics.md if torchmetrics raises") {
  const auto expected = reference("degenerate");
  if (!expected) return;
  for (size_t i = 0; i < metric_cases::degenerate_cases().size(); ++i) {
    const Case& one = metric_cases::degenerate_cases()[i];
    INFO(to_text(one) << ": expected " << (*expected)[i].dump());
    const at::Tensor value = computed(one);
    INFO("got " << value);
    if (!(*expected)[i].contains("raises")) {
      CHECK(error_of(value, to_tensor((*expected)[i])) < 1e-6);
    } else if (one.metric == "AUROC" || one.metric == "AveragePrecision") {
      CHECK(at::equal(value, at::zeros_like(value)));
    } else if (one.metric == "CosineSimilarity") {
      CHECK(value.item<double>() == 0);
    } else {
      CHECK((one.metric == "CalibrationError" || one.metric == "R2Score"));
      CHECK(std::isnan(value.item<double>()));
    }
  }
}
