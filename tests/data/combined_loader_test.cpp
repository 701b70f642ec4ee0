#include <levin/data/combined_loader.h>
#include <levin/data/data_loader.h>
#include <torch/torch.h>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::Batch;
using levin::data::CombinedBatch;
using levin::data::CombinedLoader;
using levin::data::CombinedMode;
using levin::data::DataLoader;
using levin::data::TensorDataset;

namespace {

/// Returns a loader of the samples first, first + 1, ... in batches of two.
DataLoader numbers_from(int64_t first, int64_t samples, bool shuffle = false) {
  return DataLoader(TensorDataset(torch::arange(first, first + samples)),
                    {.batch_size = 2, .shuffle = shuffle, .seed = 3});
}

std::vector<int64_t> values(const Batch& batch) {
  if (batch.empty()) return {};
  const auto tensor = batch.input().contiguous();
  return {tensor.data_ptr<int64_t>(), tensor.data_ptr<int64_t>() + tensor.numel()};
}

using Rows = std::vector<std::vector<std::vector<int64_t>>>;

/// Returns the rest of the epoch, as [batch][loader][value]; checks that only its last batch is marked as last.
Rows rest(CombinedLoader& loader) {
  Rows rows;
  bool last = false;
  while (auto loaded = loader.next()) {
    CHECK_FALSE(last);
    last = loaded->last;
    std::vector<std::vector<int64_t>> row;
    int64_t samples = 0;
    for (const auto& [name, batch] : loaded->batch.as<CombinedBatch>().batches) {
      row.push_back(values(batch));
      samples += static_cast<int64_t>(row.back().size());
    }
    CHECK(loaded->samples == samples);
    rows.push_back(row);
  }
  CHECK(last);
  return rows;
}

}  // namespace

TEST_CASE("combined loaders end with the longest or with the shortest") {
  const levin::data::Loaders loaders = {numbers_from(0, 3), numbers_from(10, 6)};
  SECTION("the shortest starts again") {
    CombinedLoader loader(loaders);
    CHECK(loader.size() == 3);
    for (int epoch = 0; epoch < 2; ++epoch) {
      loader.set_epoch(epoch);
      CHECK(rest(loader) == Rows{{{0, 1}, {10, 11}}, {{2}, {12, 13}}, {{0, 1}, {14, 15}}});
    }
  }
  SECTION("the shortest gives empty batches") {
    CombinedLoader loader(loaders, CombinedMode::MaxSize);
    CHECK(loader.size() == 3);
    CHECK(rest(loader) == Rows{{{0, 1}, {10, 11}}, {{2}, {12, 13}}, {{}, {14, 15}}});
  }
  SECTION("all end with the shortest") {
    CombinedLoader loader(loaders, CombinedMode::MinSize);
    CHECK(loader.size() == 2);
    CHECK(rest(loader) == Rows{{{0, 1}, {10, 11}}, {{2}, {12, 13}}});
  }
}

TEST_CASE("a loader that starts again draws a new order") {
  CombinedLoader loader({{"short", numbers_from(0, 16, /*shuffle=*/true)}, {"long", numbers_from(0, 48)}});
  const Rows rows = rest(loader);
  REQUIRE(rows.size() == 24);
  const auto order = [&](size_t begin) {
    std::vector<int64_t> all;
    for (size_t i = begin; i < begin + 8; ++i) all.insert(all.end(), rows[i][0].begin(), rows[i][0].end());
    return all;
  };
  CHECK(order(0) != order(8));
  CHECK(order(8) != order(16));
  loader.set_epoch(0);
  CHECK(rest(loader) == rows);
}

TEST_CASE("a combined loader resumes from its state") {
  const auto make = [](CombinedMode mode) {
    return CombinedLoader({{"a", numbers_from(0, 5, true)}, {"b", numbers_from(10, 12, true)}}, mode);
  };
  for (const CombinedMode mode : {CombinedMode::MaxSizeCycle, CombinedMode::MaxSize, CombinedMode::MinSize}) {
    for (int batches = 0; batches < 3; ++batches) {
      CombinedLoader whole = make(mode), resumed = make(mode);
      whole.set_epoch(4);
      for (int i = 0; i < batches; ++i) whole.next();
      resumed.load_state_dict(whole.state_dict());
      if (batches == 3 && mode == CombinedMode::MinSize) continue;
      CHECK(rest(resumed) == rest(whole));
    }
  }
}

TEST_CASE("no rank gets an empty part of a combined batch") {
  // Rounds of four: the second round has one of the first loader's five samples, and four of the second's eight.
  for (const int64_t rank : {0, 1}) {
    CombinedLoader loader({{"short", numbers_from(0, 5)}, {"long", numbers_from(10, 8)}});
    loader.shard(rank, 2);
    CHECK(loader.in_step());
    loader.next();
    const auto second = loader.next();
    REQUIRE(second);
    CHECK_FALSE(second->absent);
    CHECK(second->samples == (rank == 0 ? 3 : 2));
    const auto& parts = second->batch.as<CombinedBatch>();
    CHECK(values(parts["short"]) == std::vector<int64_t>{4});
    CHECK(values(parts["long"]).size() == 2);
  }
  // If no loader has a sample for a rank, its whole batch does not count.
  CombinedLoader both({{"a", numbers_from(0, 5)}, {"b", numbers_from(10, 5)}});
  both.shard(1, 2);
  both.next();
  CHECK(both.next()->absent);
}

TEST_CASE("a combined batch is read by place or name, and moves as one") {
  CombinedLoader loader({{"a", numbers_from(0, 2)}, {"b", numbers_from(10, 2)}});
  const Batch batch = loader.next()->batch.to(c10::kCPU);
  const auto& combined = batch.as<CombinedBatch>();
  CHECK(values(combined[1]) == std::vector<int64_t>{10, 11});
  CHECK(values(combined["a"]) == std::vector<int64_t>{0, 1});
  CHECK(batch.size() == 2);
  const Batch second = batch.narrow(1, 1);
  CHECK(values(second.as<CombinedBatch>()["a"]) == std::vector<int64_t>{1});
  CHECK(values(second.as<CombinedBatch>()["b"]) == std::vector<int64_t>{11});
  const Batch uneven(CombinedBatch{{{"a", combined["a"]}, {"b", combined["b"].narrow(0, 1)}}});
  CHECK(contains(error_text([&] { uneven.narrow(0, 1); }), "loader 'b' gave 1 samples and another 2"));
  CHECK(error_text([&] { combined["c"]; }) == "no loader 'c' in this batch; there are: a, b");
  CHECK(contains(
      error_text<levin::UsageError>([] { CombinedLoader({{"a", numbers_from(0, 2)}, {"a", numbers_from(0, 2)}}); }),
      "'a' is given twice"));
  CHECK(contains(error_text<levin::UsageError>([] { CombinedLoader(levin::data::Loaders()); }), "at least one loader"));
}
