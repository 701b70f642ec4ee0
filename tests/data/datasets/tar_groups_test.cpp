#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>
#include <levin/data/datasets/tar.h>

#include <fstream>
#include <set>

#include "tests/catch.h"
#include "tests/data/datasets/tar_fixture.h"
#include "tests/error_text.h"

using namespace levin::data;
using namespace tar_fixture;
using levin::Stage;
using levin::State;

namespace {

using Numbers = std::vector<int64_t>;

/// Shards of samples 0, 1, ..., of which `ids` are 1 to 40 numbers, and the target is the sample's.
struct SequenceShards {
  explicit SequenceShards(const std::vector<int64_t>& sizes) {
    int64_t number = 0;
    for (size_t shard = 0; shard < sizes.size(); ++shard) {
      ArchiveMembers members;
      for (int64_t i = 0; i < sizes[shard]; ++i, ++number) {
        const std::string key = std::to_string(number);
        members.emplace_back(key + ".ids.npy", npy_bytes(at::full({1 + number * 17 % 40}, number, at::kLong)));
        members.emplace_back(key + ".cls", key);
      }
      const std::string bytes = tar_bytes(members);
      std::ofstream(folder / ("s-" + std::to_string(shard) + (shard % 2 == 0 ? ".tar" : ".tar.gz")), std::ios::binary)
          << (shard % 2 == 0 ? bytes : gzip_bytes(bytes));
    }
  }
  TarOptions options() const {
    TarOptions options{.shards = {(folder / "s-*.tar*").string()}, .group_by_length = "ids", .batch_size = 4};
    options.samples.field_options.pad = {{"ids", 0.0}};
    options.samples.field_options.attention_mask = "ids";
    return options;
  }
  TemporaryFolder folder = {};
};

Loaders loaders_of(const TarOptions& options) {
  Tar data(options);
  data.setup(Stage::Fit);
  return data.train_dataloader();
}

/// Returns the numbers of the batches that are left.
std::vector<Numbers> rows_left(Loader& loader) {
  std::vector<Numbers> batches;
  while (auto loaded = loader.next()) {
    batches.emplace_back();
    for (int64_t i = 0; i < loaded->samples; ++i) batches.back().push_back(loaded->batch.target()[i].item<int64_t>());
  }
  return batches;
}

Numbers in_one(const std::vector<Numbers>& batches) {
  Numbers all;
  for (const Numbers& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

int64_t padding_of(Loader& loader) {
  int64_t padded = 0;
  while (auto loaded = loader.next()) padded += loaded->batch["attention_mask"].eq(0).sum().item<int64_t>();
  return padded;
}

}  // namespace

TEST_CASE("grouping by length gives each sample once, with less padding, in an order of seed and epoch") {
  const SequenceShards shards({150, 107, 160});
  TarOptions options = shards.options();
  const auto epoch = [&](const TarOptions& given, int64_t number) {
    const Loaders loaders = loaders_of(given);
    loaders[0].set_epoch(number);
    return rows_left(loaders[0]);
  };
  const auto first = epoch(options, 0), second = epoch(options, 1);
  CHECK(sorted(in_one(first)) == up_to(417));
  CHECK(sorted(in_one(second)) == up_to(417));
  CHECK(first != second);
  CHECK(first.back().size() == 1);
  const auto length = [](int64_t number) { return 1 + number * 17 % 40; };
  CHECK(length(first[0][0]) == 40);  // the longest first
  options.num_workers = 3;
  CHECK(epoch(options, 1) == second);
  TarOptions plain = options;
  plain.group_by_length = "";
  CHECK(padding_of(loaders_of(options)[0]) < padding_of(loaders_of(plain)[0]) / 4);
  options.seed = 5;
  CHECK(epoch(options, 0) != first);
}

TEST_CASE("a loader that groups tar samples by length resumes after each batch") {
  const SequenceShards shards({120, 101});
  TarOptions options = shards.options();
  options.samples.shuffle_buffer = 7;
  const Loaders loaders = loaders_of(options);
  loaders[0].set_epoch(3);
  std::vector<Numbers> all;
  std::vector<State> states;
  while (auto loaded = loaders[0].next()) {
    all.emplace_back();
    for (int64_t i = 0; i < loaded->samples; ++i) all.back().push_back(loaded->batch.target()[i].item<int64_t>());
    states.push_back(loaders[0].state_dict());
  }
  CHECK(all.size() == 56);
  for (size_t after = 0; after < states.size(); after += 5) {
    const Loaders resumed = loaders_of(options);
    resumed[0].load_state_dict(states[after]);
    CHECK(rows_left(resumed[0]) == std::vector<Numbers>(all.begin() + static_cast<int64_t>(after) + 1, all.end()));
  }
  options.batch_size = 8;
  const Loaders other = loaders_of(options);
  CHECK(contains(error_text<levin::UsageError>([&] {
                   other[0].load_state_dict(states[2]);
                   other[0].next();
                 }),
                 "data.group_by_length: the state was saved with batches of 4 samples, now they have 8"));
}

TEST_CASE("ranks share tar samples that are grouped by length, by shards and by samples") {
  for (const auto& sizes : {Numbers{60, 70, 50}, Numbers{97}}) {
    const SequenceShards shards(sizes);
    for (const RankShare share : {RankShare::Shards, RankShare::Samples}) {
      TarOptions options = shards.options();
      options.samples.shard_options.ranks_take = share;
      for (const int64_t world : {1, 2, 3}) {
        Numbers seen;
        for (int64_t rank = 0; rank < world; ++rank) {
          const Loaders loaders = loaders_of(options);
          loaders[0].shard(rank, world);
          const Numbers own = in_one(rows_left(loaders[0]));
          seen.insert(seen.end(), own.begin(), own.end());
        }
        CHECK(sorted(seen) == up_to(static_cast<int64_t>(std::set<int64_t>(seen.begin(), seen.end()).size())));
        CHECK(static_cast<int64_t>(seen.size()) == (sizes.size() == 1 ? 97 : 180));
      }
    }
  }
}

TEST_CASE("grouping tar samples by what has no length is refused") {
  const SequenceShards shards({9});
  const auto says = [&](const TarOptions& options) {
    return error_text<levin::UsageError>([&] { loaders_of(options)[0].next(); });
  };
  TarOptions options = shards.options();
  options.group_by_length = "words";
  CHECK(contains(says(options), "data.group_by_length: "));
  CHECK(contains(says(options), "sample 0 has no field 'words'; it has ids, target"));
  options.group_by_length = "target";
  CHECK(contains(says(options), "0.cls is no array with a length"));
  options.shuffle = false;
  CHECK(says(options) == "data.group_by_length: needs data.shuffle, whose order it groups");
}
