// Metrics of other metrics, and curves, against torchmetrics; their states, ranks and resumes.
#include <levin/modules/metrics/wrapper_metric.h>
#include <ATen/ATen.h>
#include <levin/core/state/state_file.h>
#include <levin/modules/metrics/boot_strapper.h>
#include <levin/modules/metrics/engine/epoch_extreme.h>
#include <levin/modules/metrics/mean_error.h>
#include <levin/modules/metrics/min_max_metric.h>
#include <levin/modules/metrics/precision_recall_curve.h>
#include <levin/modules/metrics/roc.h>
#include <levin/modules/metrics/running.h>

#include <functional>
#include <limits>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/metrics/metric_cases.h"
#include "tests/modules/metrics/reference.h"
#include "tests/temporary_folder.h"
#include "tests/thread_comm.h"

namespace {

namespace m = levin::metrics;
using levin::UsageError;
using metric_cases::Batches;
using metric_cases::Case;
using metric_cases::Json;

/// A wrapper, what it wraps, and what is done in turn.
struct WrapperCase {
  std::string wrapper = {};
  Json options = {};
  Case wrapped = {};
  std::vector<std::string> script = {};
};

const std::vector<std::string> kEach = {"update", "compute", "update", "compute", "update", "compute"};

const std::vector<WrapperCase>& wrapper_cases() {
  static const std::vector<WrapperCase> all = [] {
    std::vector<WrapperCase> cases;
    const Json multiclass = {{"task", "multiclass"}, {"num_classes", 5}};
    const Case error = {"MeanSquaredError", "regression", Json::object()};
    const Case accuracy = {"Accuracy", "multiclass", multiclass};
    for (const Case& wrapped : {error, accuracy}) {
      for (const int64_t window : {1, 2, 5}) cases.push_back({"Running", {{"window", window}}, wrapped, kEach});
      cases.push_back(
          {"Running", {{"window", 2}}, wrapped, {"forward", "forward", "compute", "reset", "update", "compute"}});
      cases.push_back({"MinMaxMetric", Json::object(), wrapped, kEach});
      cases.push_back(
          {"MinMaxMetric", Json::object(), wrapped, {"update", "compute", "reset", "update", "update", "compute"}});
      cases.push_back({"BootStrapper", {{"seed", 3}}, wrapped, kEach});
      cases.push_back({"BootStrapper",
                       {{"num_bootstraps", 4}, {"quantile", 0.3}, {"raw", true}, {"sampling_strategy", "multinomial"}},
                       wrapped,
                       {"update", "update", "compute"}});
      cases.push_back({"BootStrapper", {{"num_bootstraps", 2}, {"mean", false}, {"seed", 9}}, wrapped, kEach});
    }
    return cases;
  }();
  return all;
}

std::shared_ptr<m::WrapperMetric> make_wrapper(const WrapperCase& one) {
  const auto wrapped = metric_cases::make(one.wrapped);
  if (one.wrapper == "MinMaxMetric") return std::make_shared<m::MinMaxMetric>(wrapped);
  if (one.wrapper == "Running") {
    m::RunningOptions options;
    levin::schema_of<m::RunningOptions>().set(&options, "", one.options);
    return std::make_shared<m::Running>(wrapped, options);
  }
  m::BootStrapperOptions options;
  levin::schema_of<m::BootStrapperOptions>().set(&options, "", one.options);
  return std::make_shared<m::BootStrapper>(wrapped, options);
}

levin::State batches_of(const std::string& data) {
  levin::State list = levin::State::list();
  for (const auto& [preds, target] : metric_cases::data().at(data)) list.push_back(levin::State::list({preds, target}));
  return list;
}

const bool kWrappers = add_reference("wrappers", [] {
  ReferenceRequest request{.kind = "wrappers", .cases = Json::array()};
  for (const WrapperCase& one : wrapper_cases()) {
    request.data[one.wrapped.data] = batches_of(one.wrapped.data);
    request.cases.push_back(
        {one.wrapper, one.options, {one.wrapped.metric, one.wrapped.options}, one.wrapped.data, one.script});
  }
  return request;
});

std::vector<Case> curve_cases() {
  std::vector<Case> cases;
  for (const char* metric : {"ROC", "PrecisionRecallCurve"})
    for (const Json& thresholds : {Json(), Json(12)}) {
      const auto add = [&](const char* data, Json options) {
        if (!thresholds.is_null()) options["thresholds"] = thresholds;
        cases.push_back({metric, data, options});
      };
      for (const char* data : {"binary", "binary_logits", "binary_ties", "binary_2d"}) add(data, {{"task", "binary"}});
      add("binary_ignored", {{"task", "binary"}, {"ignore_index", -1}});
      for (const char* data : {"multiclass", "multiclass_logits", "multiclass_absent"})
        add(data, {{"task", "multiclass"}, {"num_classes", 5}});
      add("multiclass_ignored", {{"task", "multiclass"}, {"num_classes", 5}, {"ignore_index", -1}});
      add("multilabel", {{"task", "multilabel"}, {"num_labels", 4}});
      add("multilabel_ignored", {{"task", "multilabel"}, {"num_labels", 4}, {"ignore_index", -1}});
    }
  return cases;
}

const bool kCurves = add_reference("curves", [] {
  ReferenceRequest request{.kind = "curves", .cases = Json::array()};
  for (const Case& one : curve_cases()) {
    request.data[one.data] = batches_of(one.data);
    request.cases.push_back({one.metric, one.options, one.data});
  }
  return request;
});

at::Tensor values_of(const Json& values) {
  std::vector<double> numbers;
  for (const Json& value : values)
    numbers.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  return at::tensor(numbers, at::kDouble);
}

std::shared_ptr<m::ThresholdCurve> make_curve(const Case& one) {
  m::ThresholdCurveOptions options;
  levin::schema_of<m::ThresholdCurveOptions>().set(&options, "", one.options);
  if (one.metric == "ROC") return std::make_shared<m::ROC>(options);
  return std::make_shared<m::PrecisionRecallCurve>(options);
}

}  // namespace

TEST_CASE("wrappers compute torchmetrics' values in each step, those that draw too") {
  const auto expected = reference("wrappers");
  if (!expected) return;
  for (size_t i = 0; i < wrapper_cases().size(); ++i) {
    const WrapperCase& one = wrapper_cases()[i];
    INFO(one.wrapper << " " << one.options.dump() << " of " << to_text(one.wrapped));
    const auto metric = make_wrapper(one);
    const Batches& batches = metric_cases::data().at(one.wrapped.data);
    size_t batch = 0, value = 0;
    for (const std::string& step : one.script) {
      at::Tensor computed;
      if (step == "reset") metric->reset();
      if (step == "compute") computed = metric->compute();
      if (step == "forward") computed = (*metric)(batches[batch].first, batches[batch].second);
      if (step == "update") metric->update(batches[batch].first, batches[batch].second);
      if (step == "update" || step == "forward") ++batch;
      if (!computed.defined()) continue;
      INFO(step << " " << value << ": got " << computed.reshape(-1) << ", expected " << (*expected)[i][value].dump());
      CHECK(metric_cases::difference(computed.reshape(-1), values_of((*expected)[i][value++])) < 1e-6);
    }
  }
}

TEST_CASE("curves equal torchmetrics', for each class, exact and with thresholds") {
  const auto expected = reference("curves");
  if (!expected) return;
  const std::vector<Case> cases = curve_cases();
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(to_text(cases[i]));
    const auto metric = make_curve(cases[i]);
    metric_cases::update(*metric, metric_cases::data().at(cases[i].data));
    const std::vector<m::Curve> curves = metric->curves();
    REQUIRE(curves.size() == (*expected)[i].size());
    for (size_t column = 0; column < curves.size(); ++column) {
      const Json& wanted = (*expected)[i][column];
      INFO("column " << column);
      CHECK(metric_cases::difference(curves[column].x, values_of(wanted[0])) < 1e-6);
      CHECK(metric_cases::difference(curves[column].y, values_of(wanted[1])) < 1e-6);
      CHECK(metric_cases::difference(curves[column].thresholds, values_of(wanted[2])) < 1e-6);
    }
    CHECK(metric->compute().size(0) == static_cast<int64_t>(curves.size()));
  }
}

TEST_CASE("a wrapper continues from a state saved half-way to the bit, and copies have states of their own") {
  const TemporaryFolder folder;
  for (const WrapperCase& one : wrapper_cases()) {
    INFO(one.wrapper << " " << one.options.dump() << " of " << to_text(one.wrapped));
    const Batches& batches = metric_cases::data().at(one.wrapped.data);
    const auto whole = make_wrapper(one), loaded = make_wrapper(one), prepended = make_wrapper(one);
    metric_cases::update(*whole, batches, 0, 2);
    whole->compute();
    levin::save_state(whole->state_dict(), folder / "metric.pt");
    const auto copy = whole->clone();
    const at::Tensor half = copy->compute();
    metric_cases::update(*whole, batches, 2, 4);
    const at::Tensor wanted = whole->compute();
    const levin::State state = levin::load_state(folder / "metric.pt");
    loaded->load_state_dict(state);
    prepended->prepend_state_dict(state);  // before the first batch, as NamedMetrics has it
    for (const auto& metric : {loaded, prepended}) {
      metric_cases::update(*metric, batches, 2, 4);
      CHECK(metric_cases::difference(metric->compute(), wanted) == 0);
    }
    CHECK(metric_cases::difference(copy->compute(), half) == 0);
    loaded->reset();
    CHECK(contains(error_text<UsageError>([&] {
                     levin::State other = state;
                     other["parts"] = levin::State::list();
                     loaded->load_state_dict(other);
                   }),
                   one.wrapper == "Running" ? " batches, and has 0" : "0 parts, expected"));
  }
}

TEST_CASE("batches that come after a saved state follow it in the window, as many as there are") {
  m::Running running(m::MeanAbsoluteError(), {.window = 3});
  const auto count = [](m::Metric& metric, double error) { metric.update(at::full({1}, error), at::zeros({1})); };
  for (const double error : {1., 2., 3.}) count(running, error);
  m::Running later(m::MeanAbsoluteError(), {.window = 3});
  count(later, 10);
  later.prepend_state_dict(running.state_dict());
  CHECK(later.compute().item<double>() == 5);
  later.merge(running);
  CHECK(later.compute().item<double>() == 2);
}

TEST_CASE("wrappers compute over ranks what one metric computes of all batches, and restore the rank's") {
  const Batches& batches = metric_cases::data().at("regression");
  for (const int ranks : {1, 2, 3}) {
    std::vector<double> running(static_cast<size_t>(ranks)), lowest(static_cast<size_t>(ranks));
    levin::run_ranks(ranks, [&](levin::Comm& comm) {
      const auto rank = static_cast<size_t>(comm.rank());
      m::Running window(m::MeanSquaredError(), {.window = 2});
      m::EpochExtreme extreme(m::MeanSquaredError().clone(), /*is_max=*/false);
      // The last rank has no batch.
      if (rank == 0 || rank + 1 < static_cast<size_t>(ranks)) {
        metric_cases::update(window, batches, rank, rank + 1);
        metric_cases::update(extreme, batches, rank, rank + 1);
      }
      const at::Tensor own = window.compute();
      window.sync(comm);
      extreme.sync(comm);
      running[rank] = window.compute().item<double>();
      extreme.compute();
      window.unsync();
      extreme.unsync();
      extreme.reset();
      if (metric_cases::difference(window.compute(), own) != 0) throw levin::Error("not this rank's value");
      lowest[rank] = extreme.extreme();
    });
    m::MeanSquaredError all;
    metric_cases::update(all, batches, 0, static_cast<size_t>(std::max(1, ranks - 1)));
    for (size_t rank = 0; rank < static_cast<size_t>(ranks); ++rank) {
      CHECK(running[rank] == Approx(all.compute().item<double>()).epsilon(1e-12));
      CHECK(lowest[rank] == Approx(all.compute().item<double>()).epsilon(1e-12));
    }
  }
}

TEST_CASE("an extreme is that of epochs that have ended, whatever is computed in their middle") {
  m::EpochExtreme largest(m::MeanAbsoluteError().clone(), /*is_max=*/true);
  const auto count = [&](double error) { largest.update(at::full({1}, error), at::zeros({1})); };
  count(9);
  CHECK(largest.compute().item<double>() == 9);  // a checkpoint in the epoch
  count(1);
  CHECK(largest.compute().item<double>() == 5);
  largest.reset();
  count(2);
  CHECK(largest.compute().item<double>() == 5);
  largest.reset();
  CHECK(largest.extreme() == 5);
  largest.reset();
  count(std::numeric_limits<double>::quiet_NaN());
  CHECK(largest.compute().item<double>() == 5);
}

TEST_CASE("draws follow the seed and the rank, and not the random numbers of others") {
  const auto spread = [](int64_t seed, int64_t stream) {
    m::BootStrapper metric(m::MeanSquaredError(), {.seed = seed});
    metric.use_stream(stream);
    metric_cases::update(metric, metric_cases::data().at("regression"), 0, 2);
    return metric.compute();
  };
  at::manual_seed(1);
  const at::Tensor next = at::rand({2});
  at::manual_seed(1);
  const at::Tensor first = spread(0, 0);
  CHECK(at::equal(at::rand({2}), next));
  CHECK(at::equal(spread(0, 0), first));
  CHECK_FALSE(at::equal(spread(0, 1), first));
  CHECK_FALSE(at::equal(spread(1, 0), first));
}

TEST_CASE("wrappers say what they cannot wrap") {
  const auto says = [](const std::function<void()>& body, const std::string& text) {
    return contains(error_text<UsageError>(body), text);
  };
  CHECK(says([] { m::Running(m::MeanSquaredError(), {.window = 0}); }, "Running.window: expected at least 1"));
  CHECK(says([] { m::MinMaxMetric(std::shared_ptr<m::Metric>()); }, "MinMaxMetric.metric: missing"));
  CHECK(says([] { m::BootStrapper(m::MeanSquaredError(), {.mean = false, .std = false}); }, "are all off"));
  CHECK(says(
      [] {
        m::MinMaxMetric metric(m::MeanSquaredError({.num_outputs = 2}));
        metric.update(at::ones({3, 2}), at::zeros({3, 2}));
        metric.compute();
      },
      "MinMaxMetric: expected a metric with a single value, got one with values [2]"));
  CHECK(says([] { m::BootStrapper(m::MeanSquaredError()).update(at::ones({3}), at::zeros({2})); },
             "BootStrapper: expected inputs with one size of the first dimension"));
}
