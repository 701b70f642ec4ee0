#include <ATen/ops/full.h>
#include <levin/data/data_loader.h>
#include <levin/trainer/core/error.h>

#include "tests/catch.h"

using levin::Batch;
using namespace levin::data;

namespace {

Batch rows(int64_t count, double value) { return Batch(at::full({count, 2}, value)); }

std::vector<Batch> batches() { return {rows(4, 0), rows(4, 1), rows(2, 2)}; }

StreamLoader stream() {
  return StreamLoader([](int64_t epoch) {
    return [epoch, i = 0]() mutable -> std::optional<Batch> {
      if (i == 3) return {};
      ++i;
      return rows(i, static_cast<double>(epoch * 10 + i));
    };
  });
}

double value(const std::optional<LoadedBatch>& loaded) { return loaded->batch.input()[0][0].item<double>(); }

DataLoader made() { return DataLoader(TensorDataset(at::full({6, 1}, 1.0)), {.batch_size = 2}); }
Loaders none() { return {}; }
Loaders one() { return made(); }
Loaders named() {
  DataLoader loader = made();
  return loader;
}
Loaders two() {
  DataLoader a = made(), b = made();
  return {a, b};
}
Loaders mixed() { return {made(), std::make_shared<DataLoader>(made()), batches(), stream()}; }
Loaders ready() { return batches(); }

}  // namespace

TEST_CASE("loaders are given in every usual way") {
  CHECK(none().empty());
  CHECK(one().size() == 1);
  CHECK(named()[0].next()->samples == 2);
  CHECK(two().size() == 2);
  CHECK(mixed().size() == 4);
  CHECK(mixed()[2].next()->samples == 4);
  CHECK(ready().size() == 1);
  CHECK_THROWS_AS(Loaders(std::shared_ptr<DataLoader>()), levin::UsageError);
  CHECK_THROWS_AS(Loaders(std::vector<Batch>()), levin::UsageError);
}

TEST_CASE("ready batches are a loader, with a state") {
  BatchListLoader loader(batches());
  CHECK(loader.size() == 3);
  CHECK_FALSE(loader.next()->last);
  loader.next();
  const levin::State state = loader.state_dict();
  CHECK(state.at("position").to_int() == 8);
  const auto third = loader.next();
  CHECK(third->last);
  CHECK(third->samples == 2);
  CHECK_FALSE(loader.next());
  loader.set_epoch(1);
  CHECK(value(loader.next()) == 0);

  BatchListLoader resumed(batches());
  resumed.load_state_dict(state);
  CHECK(value(resumed.next()) == 2);
  BatchListLoader other({rows(3, 0), rows(3, 0), rows(3, 0)});
  CHECK_THROWS_AS(other.load_state_dict(state), levin::Error);
}

TEST_CASE("a stream of unknown length is read one batch ahead") {
  StreamLoader loader = stream();
  CHECK_FALSE(loader.size());
  loader.set_epoch(3);
  CHECK(value(loader.next()) == 31);
  const auto second = loader.next();
  CHECK_FALSE(second->last);
  const levin::State state = loader.state_dict();
  CHECK(state.at("position").to_int() == 3);
  CHECK(loader.next()->last);
  CHECK_FALSE(loader.next());
  CHECK_FALSE(loader.next());

  StreamLoader resumed = stream();
  resumed.load_state_dict(state);
  CHECK(value(resumed.next()) == 33);
  StreamLoader empty([](int64_t) { return []() -> std::optional<Batch> { return {}; }; });
  CHECK_FALSE(empty.next());
}
