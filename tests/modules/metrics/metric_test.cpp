// What all metrics have in common: merging, ranks, state, reset, copies, and no wait for the device.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <levin/core/state/state_file.h>
#include <levin/modules/metrics/accuracy.h>
#include <levin/modules/metrics/mean_error.h>

#include <set>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/metrics/metric_cases.h"
#include "tests/temporary_folder.h"
#include "tests/thread_comm.h"

using levin::UsageError;
using metric_cases::Batches;
using metric_cases::Case;
using metric_cases::difference;
using metric_cases::make;
using metric_cases::update;

namespace {

namespace m = levin::metrics;

/// Sums of floats in another order may differ in the last bits.
constexpr double kRounding = 1e-12;

at::Tensor value_of_all(const Case& one) {
  const auto metric = make(one);
  update(*metric, metric_cases::data().at(one.data));
  return metric->compute();
}

/// Names of the operators that wait for the device, or whose result's shape depends on values.
const std::set<std::string>& waiting_operators() {
  static const std::set<std::string> names = {"aten::item",          "aten::_local_scalar_dense",
                                              "aten::nonzero",       "aten::is_nonzero",
                                              "aten::masked_select", "aten::equal",
                                              "aten::bincount",      "aten::_unique2",
                                              "aten::unique_dim",    "aten::_assert_async",
                                              "aten::index"};
  return names;
}
std::multiset<std::string>& seen_operators() {
  static std::multiset<std::string> seen;
  return seen;
}

std::unique_ptr<at::ObserverContext> note_operator(const at::RecordFunction& function) {
  if (waiting_operators().count(function.name())) seen_operators().insert(function.name());
  return nullptr;
}

/// Returns the operators called by `body` that wait for the device.
template <class Body>
std::multiset<std::string> waits_in(const Body& body) {
  seen_operators().clear();
  const auto handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(note_operator).scopes({at::RecordScope::FUNCTION}));
  body();
  at::removeCallback(handle);
  return seen_operators();
}

}  // namespace

TEST_CASE("update never waits for the device") {
  CHECK(waits_in([] { (void)at::ones({}).item<double>(); }).count("aten::_local_scalar_dense") == 1);
  CHECK(waits_in([] { (void)at::ones({3}).nonzero(); }).count("aten::nonzero") == 1);
  for (const Case& one : metric_cases::random_cases()) {
    INFO(to_text(one));
    const auto metric = make(one);
    const Batches& batches = metric_cases::data().at(one.data);
    CHECK(waits_in([&] { update(*metric, batches); }).empty());
    CHECK(waits_in([&] { metric->compute(); }).empty());
    CHECK(waits_in([&] { metric->reset(); }).empty());
  }
}

TEST_CASE("two parts merged are the whole") {
  for (const Case& one : metric_cases::random_cases()) {
    INFO(to_text(one));
    const Batches& batches = metric_cases::data().at(one.data);
    const auto first = make(one), second = make(one);
    update(*first, batches, 0, 2);
    update(*second, batches, 2, batches.size());
    const at::Tensor of_second = second->compute();
    first->merge(*second);
    CHECK(difference(first->compute(), value_of_all(one)) < kRounding);
    CHECK(difference(second->compute(), of_second) == 0);
  }
  const m::MeanSquaredError error;
  m::MeanAbsoluteError other;
  CHECK(contains(error_text<UsageError>([&] { other.merge(error); }), "different classes"));
  m::MeanSquaredError three({.num_outputs = 3});
  CHECK(contains(error_text<UsageError>([&] { three.merge(error); }), "the same class with the same options"));
}

TEST_CASE("three ranks with uneven rows, one with none, compute the whole") {
  for (const Case& one : metric_cases::random_cases()) {
    INFO(to_text(one));
    const Batches& batches = metric_cases::data().at(one.data);
    std::vector<at::Tensor> values(3);
    std::vector<char> restored(3);  // threads may not write to neighbours of a std::vector<bool>
    levin::run_ranks(3, [&](levin::Comm& comm) {
      const auto rank = static_cast<size_t>(comm.rank());
      const auto metric = make(one);
      // Rank 1 has nothing: its rows lie between the others'.
      if (rank == 0) update(*metric, batches, 0, 3);
      if (rank == 2) update(*metric, batches, 3, batches.size());
      const at::Tensor before = metric->compute();
      metric->sync(comm);
      values[rank] = metric->compute();
      metric->unsync();
      restored[rank] = difference(metric->compute(), before) == 0;
    });
    const at::Tensor whole = value_of_all(one);
    for (size_t rank = 0; rank < 3; ++rank) {
      CHECK(difference(values[rank], whole) < kRounding);
      CHECK(difference(values[rank], values[0]) == 0);
      CHECK(restored[rank]);
    }
  }
}

TEST_CASE("two ranks without any update compute what one metric without any update does") {
  for (const Case& one : metric_cases::random_cases()) {
    if (one.data != "binary" && one.data != "multiclass" && one.data != "regression_2d") continue;
    INFO(to_text(one));
    at::Tensor value;
    levin::run_ranks(2, [&](levin::Comm& comm) {
      const auto metric = make(one);
      metric->sync(comm);
      if (comm.rank() == 0) value = metric->compute();
    });
    CHECK(difference(value, make(one)->compute()) == 0);
  }
}

TEST_CASE("between sync and unsync a metric refuses to count, and saves this rank's state") {
  levin::run_ranks(2, [&](levin::Comm& comm) {
    m::MeanSquaredError metric;
    metric.update(at::ones({3}), at::zeros({3}));
    metric.sync(comm);
    if (metric.state_dict().at("count").to_tensor().item<int64_t>() != 3) throw levin::Error("not this rank's state");
    const auto count = [&] { metric.update(at::ones({3}), at::zeros({3})); };
    if (!contains(error_text<UsageError>(count), "between sync and unsync")) throw levin::Error("it counted");
    if (!contains(error_text<UsageError>([&] { metric.sync(comm); }), "sync was called twice"))
      throw levin::Error("it synced twice");
    metric.reset();
    if (metric.is_synced()) throw levin::Error("it is synced after reset");
    count();
  });
}

TEST_CASE("another metric continues from a state saved half-way, also through a file") {
  const TemporaryFolder folder;
  for (const Case& one : metric_cases::random_cases()) {
    INFO(to_text(one));
    const Batches& batches = metric_cases::data().at(one.data);
    const auto first = make(one), second = make(one), third = make(one);
    update(*first, batches, 0, 2);
    const levin::State state = first->state_dict();
    levin::save_state(state, folder / "metric.pt");
    update(*first, batches, 2, batches.size());  // the saved state must not follow
    const at::Tensor whole = first->compute();
    second->load_state_dict(state);
    update(*second, batches, 2, batches.size());
    CHECK(difference(second->compute(), whole) == 0);
    update(*third, batches, 2, batches.size());
    third->prepend_state_dict(levin::load_state(folder / "metric.pt"));
    CHECK(difference(third->compute(), whole) < kRounding);
  }
}

TEST_CASE("a state that does not fit is refused and changes nothing") {
  m::Accuracy metric({.task = "multiclass", .num_classes = 3, .average = "macro"});
  metric.update(at::tensor({0, 1, 2}), at::tensor({0, 1, 1}));
  const at::Tensor before = metric.compute();
  const m::Accuracy other({.task = "multiclass", .num_classes = 4, .average = "macro"});
  CHECK(contains(error_text<UsageError>([&] { metric.load_state_dict(other.state_dict()); }),
                 "state tp has shape [4], expected [3]"));
  CHECK(contains(error_text<levin::Error>([&] { metric.load_state_dict(levin::State::dict()); }), "tp"));
  CHECK(difference(metric.compute(), before) == 0);
}

TEST_CASE("reset forgets everything, and copies have their own states") {
  for (const Case& one : metric_cases::random_cases()) {
    INFO(to_text(one));
    const Batches& batches = metric_cases::data().at(one.data);
    const auto metric = make(one);
    update(*metric, batches, 0, 2);
    const auto copy = metric->clone();
    const at::Tensor half = metric->compute();
    metric->reset();
    CHECK(difference(metric->compute(), make(one)->compute()) == 0);
    update(*metric, batches);
    CHECK(difference(metric->compute(), value_of_all(one)) < kRounding);
    CHECK(difference(copy->compute(), half) == 0);
  }
}

TEST_CASE("forward counts a batch and gives its own value") {
  for (const Case& one : metric_cases::random_cases()) {
    INFO(to_text(one));
    const Batches& batches = metric_cases::data().at(one.data);
    const auto metric = make(one);
    for (size_t i = 0; i < batches.size(); ++i) {
      const auto alone = make(one);
      update(*alone, batches, i, i + 1);
      CHECK(difference((*metric)(batches[i].first, batches[i].second), alone->compute()) == 0);
      CHECK(difference(metric->batch_value(), alone->compute()) == 0);
    }
    CHECK(difference(metric->compute(), value_of_all(one)) < kRounding);
    update(*metric, batches, 0, 1);
    CHECK_FALSE(metric->batch_value().defined());
  }
}

TEST_CASE("a metric counts inside and outside of inference mode, and keeps no graph") {
  for (const Case& one : metric_cases::random_cases()) {
    INFO(to_text(one));
    const Batches& batches = metric_cases::data().at(one.data);
    const auto metric = make(one);
    {
      const c10::InferenceMode inference;
      update(*metric, batches, 0, 1);
      CHECK_FALSE(metric->compute().requires_grad());
    }
    for (size_t i = 1; i < batches.size(); ++i) {
      const auto& [preds, target] = batches[i];
      const at::Tensor with_graph = preds.is_floating_point() ? preds.clone().requires_grad_() : preds;
      metric->update(with_graph, target);
    }
    CHECK_FALSE(metric->compute().requires_grad());
    CHECK(difference(metric->compute(), value_of_all(one)) < kRounding);
    metric->reset();
  }
}
