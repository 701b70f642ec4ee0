#include <ATen/ops/full.h>
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>

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
  StreamLoader no_batches([](int64_t) { return []() -> std::optional<Batch> { return {}; }; });
  CHECK_FALSE(no_batches.next());
}

TEST_CASE("a stream on demand is read neither ahead nor again") {
  int64_t made = 0;
  std::vector<int64_t> opened;
  const auto open = [&](int64_t epoch, int64_t batches_before) {
    opened.push_back(epoch * 10 + batches_before);
    return [&made, left = 3 - batches_before]() mutable -> std::optional<Batch> {
      if (left-- == 0) return {};
      ++made;
      return rows(2, static_cast<double>(made));
    };
  };
  StreamLoader loader(open, {.on_demand = true});
  loader.set_epoch(1);
  CHECK(made == 0);
  CHECK(value(loader.next()) == 1);
  CHECK(made == 1);
  CHECK_FALSE(loader.next()->last);
  const levin::State state = loader.state_dict();
  CHECK_FALSE(loader.next()->last);
  CHECK_FALSE(loader.next());
  CHECK_FALSE(loader.next());
  CHECK(made == 3);

  StreamLoader resumed(open, {.on_demand = true});
  resumed.load_state_dict(state);
  CHECK(made == 3);
  CHECK(value(resumed.next()) == 4);
  CHECK_FALSE(resumed.next());
  CHECK(resumed.state_dict().at("batches").to_int() == 3);
  CHECK(opened == std::vector<int64_t>{10, 12});
}

TEST_CASE("batches without samples have an index like others") {
  const auto numbered = [] {
    return StreamLoader([](int64_t) {
      return [i = 0]() mutable -> std::optional<Batch> {
        if (i == 4) return {};
        return ++i < 3 ? Batch() : rows(1, i);
      };
    });
  };
  StreamLoader loader = numbered(), resumed = numbered();
  CHECK(loader.next()->samples == 0);
  CHECK_FALSE(loader.next()->absent);
  resumed.load_state_dict(loader.state_dict());
  CHECK(value(resumed.next()) == 3);

  BatchListLoader list({Batch(), Batch(), rows(1, 7)}), again({Batch(), Batch(), rows(1, 7)});
  list.next();
  list.next();
  again.load_state_dict(list.state_dict());
  CHECK(value(again.next()) == 7);
}
