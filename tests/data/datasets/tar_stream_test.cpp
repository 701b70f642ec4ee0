#include <levin/data/datasets/readers/tar_stream.h>

#include <fstream>
#include <set>

#include "tests/catch.h"
#include "tests/data/datasets/tar_fixture.h"
#include "tests/error_text.h"

using namespace tar_fixture;
using levin::State;

TEST_CASE("samples come in sequence, shard after shard, with and without gzip") {
  for (const bool compressed : {false, true}) {
    const Shards shards(3, 4, compressed);
    const TarDataset data({shards.pattern});
    CHECK(numbers(data, {}) == up_to(12));
    CHECK(numbers(data, {.seed = 1, .epoch = 1}) == up_to(12));
  }
}

TEST_CASE("a shuffled epoch draws the shards' order, and samples from the buffer, by seed and epoch alone") {
  const Shards shards(5, 6);
  const TarDataset data({shards.pattern});
  const auto first = numbers(data, {.seed = 1, .epoch = 0, .shuffle = true});
  CHECK(first == numbers(data, {.seed = 1, .epoch = 0, .shuffle = true}));
  CHECK(first != up_to(30));
  CHECK(sorted(first) == up_to(30));
  for (size_t i = 0; i < 30; i += 6) {
    CHECK(first[i] % 6 == 0);
    CHECK(first[i + 5] == first[i] + 5);
  }
  std::set<std::vector<int64_t>> orders;
  for (int64_t epoch = 0; epoch < 8; ++epoch)
    orders.insert(numbers(data, {.seed = 1, .epoch = epoch, .shuffle = true}));
  CHECK(orders.size() > 5);

  const TarDataset buffered({shards.pattern}, {.shuffle_buffer = 8});
  const auto mixed = numbers(buffered, {.seed = 1, .epoch = 0, .shuffle = true});
  CHECK(sorted(mixed) == up_to(30));
  CHECK(mixed != first);
  CHECK(mixed == numbers(buffered, {.seed = 1, .epoch = 0, .shuffle = true}));
  CHECK(mixed != numbers(buffered, {.seed = 2, .epoch = 0, .shuffle = true}));
  CHECK(numbers(buffered, {}) == up_to(30));
}

TEST_CASE("a tar stream resumes from its state with the very next sample") {
  for (const bool compressed : {false, true}) {
    const Shards shards(3, 5, compressed);
    for (const int64_t buffer : {0, 4, 100}) {
      const TarDataset data({shards.pattern}, {.shuffle_buffer = buffer});
      const StreamOptions options{.seed = 3, .epoch = 2, .shuffle = true};
      const auto whole = numbers(data, options);
      for (int64_t done = 0; done <= shards.count; ++done) {
        const auto stream = data.open(options);
        numbers(data, *stream, done);
        const State state = *stream->state_dict();
        const auto resumed = data.open(options);
        resumed->load_state_dict(state);
        CHECK(numbers(data, *resumed) == std::vector<int64_t>(whole.begin() + done, whole.end()));
      }
    }
  }
}

TEST_CASE("resuming a tar stream does not read what came before") {
  const Shards shards(1, 6);
  const TarDataset data({shards.pattern});
  const auto stream = data.open({});
  numbers(data, *stream, 4);
  const State state = *stream->state_dict();
  CHECK(state.at("offset").to_int() == 4 * 2 * 1024);
  // The bytes before the position are overwritten.
  {
    std::fstream file(shards.folder / "s-00.tar", std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(4 * 2 * 1024, 'x');
  }
  const auto resumed = data.open({});
  resumed->load_state_dict(state);
  CHECK(numbers(data, *resumed) == std::vector<int64_t>{4, 5});
}

TEST_CASE("a state of other shards, ranks or another buffer is refused") {
  const Shards shards(2, 2);
  const State state = *TarDataset({shards.pattern}).open({})->state_dict();
  const TarDataset one({(shards.folder / "s-00.tar").string()});
  CHECK(error_text([&] { one.open({})->load_state_dict(state); }) ==
        "TarDataset: the state was saved with shards = 2, now it is 1; resume with the same shards, ranks and "
        "shuffle_buffer");
  CHECK(
      contains(error_text([&] { TarDataset({shards.pattern}).open({.rank = 1, .world = 2})->load_state_dict(state); }),
               "saved with rank = 0, now it is 1"));
}

TEST_CASE("ranks take whole shards, or single samples if there are fewer shards than ranks") {
  const Shards shards(4, 3);
  const TarDataset data({shards.pattern});
  CHECK(data.divides_among_ranks());
  CHECK(numbers(data, {.rank = 0, .world = 3}) == std::vector<int64_t>{0, 1, 2, 9, 10, 11});
  CHECK(numbers(data, {.rank = 2, .world = 3}) == std::vector<int64_t>{6, 7, 8});
  for (const int64_t world : {3, 5, 13}) {
    for (const int64_t buffer : {0, 4}) {
      const TarDataset buffered({shards.pattern}, {.shuffle_buffer = buffer});
      std::vector<int64_t> all;
      for (int64_t rank = 0; rank < world; ++rank) {
        const auto part = numbers(buffered, {.seed = 1, .shuffle = true, .rank = rank, .world = world});
        all.insert(all.end(), part.begin(), part.end());
      }
      CHECK(sorted(all) == up_to(12));
    }
  }
  CHECK(numbers(data, {.rank = 1, .world = 5}) == std::vector<int64_t>{1, 6, 11});
  const auto stream = data.open({.rank = 1, .world = 5});
  numbers(data, *stream, 1);
  const auto resumed = data.open({.rank = 1, .world = 5});
  resumed->load_state_dict(*stream->state_dict());
  CHECK(numbers(data, *resumed) == std::vector<int64_t>{6, 11});
  CHECK_FALSE(TarDataset({(shards.folder / "s-00.tar").string()}).divides_among_ranks());
}
