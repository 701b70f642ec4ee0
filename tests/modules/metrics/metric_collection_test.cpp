#include <levin/modules/metrics/metric_collection.h>
#include <ATen/ATen.h>
#include <levin/modules/metrics/accuracy.h>
#include <levin/modules/metrics/auroc.h>
#include <levin/modules/metrics/mean_error.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/thread_comm.h"

namespace {

namespace m = levin::metrics;
using levin::UsageError;

m::MetricCollection make(m::MetricCollectionOptions options = {}) {
  return m::MetricCollection({{"acc", m::Accuracy({.task = "binary"})}, {"auroc", m::AUROC({.task = "binary"})}},
                             std::move(options));
}

const at::Tensor& preds() {
  static const at::Tensor values = at::tensor({0.1, 0.9, 0.6, 0.4, 0.8, 0.2});
  return values;
}
const at::Tensor& target() {
  static const at::Tensor values = at::tensor({0, 1, 0, 1, 1, 0});
  return values;
}

}  // namespace

TEST_CASE("a collection updates and names all its metrics") {
  m::MetricCollection metrics = make({.prefix = "val_", .postfix = "/all"});
  const auto of_batch = metrics(preds(), target());
  REQUIRE(of_batch.size() == 2);
  CHECK(of_batch[0].first == "val_acc/all");
  CHECK(of_batch[1].first == "val_auroc/all");
  CHECK(of_batch[0].second.item<double>() == Approx(4.0 / 6));
  CHECK(of_batch[1].second.item<double>() == Approx(8.0 / 9));
  metrics.update(preds(), 1 - target());
  CHECK(metrics.compute()[0].second.item<double>() == Approx(0.5));
  CHECK(metrics["acc"].compute().item<double>() == Approx(0.5));
  metrics.reset();
  CHECK(metrics.compute()[0].second.item<double>() == 0);
  CHECK(contains(error_text<UsageError>([&] { metrics["aurok"]; }), "did you mean auroc?"));
}

TEST_CASE("a clone has its own states and names") {
  const m::MetricCollection train = make({.prefix = "train_"});
  m::MetricCollection val = train.clone({.prefix = "val_"});
  val.update(preds(), target());
  CHECK(val.compute()[0].first == "val_acc");
  CHECK(val.compute()[0].second.item<double>() == Approx(4.0 / 6));
  CHECK(train.compute()[0].first == "train_acc");
  CHECK(train.compute()[0].second.item<double>() == 0);
}

TEST_CASE("a collection merges, saves and speaks for all ranks") {
  m::MetricCollection first = make(), second = make(), whole = make();
  whole.update(preds(), target());
  first.update(preds().narrow(0, 0, 2), target().narrow(0, 0, 2));
  second.load_state_dict(first.state_dict());
  m::MetricCollection rest = make();
  rest.update(preds().narrow(0, 2, 4), target().narrow(0, 2, 4));
  second.merge(rest);
  CHECK(second.compute()[0].second.item<double>() == whole.compute()[0].second.item<double>());
  CHECK(second.compute()[1].second.item<double>() == whole.compute()[1].second.item<double>());
  std::vector<double> values(2);
  levin::run_ranks(2, [&](levin::Comm& comm) {
    m::MetricCollection mine = comm.rank() == 0 ? first.clone() : rest.clone();
    mine.sync(comm);
    values[static_cast<size_t>(comm.rank())] = mine.compute()[1].second.item<double>();
    mine.unsync();
  });
  CHECK(values[0] == Approx(8.0 / 9));
  CHECK(values[0] == values[1]);
  m::MetricCollection other({{"acc", m::Accuracy({.task = "binary"})}});
  CHECK(contains(error_text<UsageError>([&] { other.merge(whole); }), "expected 1 metrics, got 2"));
}

TEST_CASE("names of a collection are unique") {
  const auto twice = [] { m::MetricCollection({{"a", m::MeanSquaredError()}, {"a", m::MeanAbsoluteError()}}); };
  CHECK(contains(error_text<UsageError>(twice), "the name 'a' comes twice"));
  CHECK(contains(error_text<UsageError>([] { m::MetricCollection({}); }), "at least one metric"));
}
