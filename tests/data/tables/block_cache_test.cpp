#include <levin/data/tables/block_cache.h>
#include <ATen/ops/full.h>
#include <levin/core/system/error.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/error_text.h"

namespace levin::data {
namespace {

constexpr int64_t kRowsOfBlock = 100, kBlocksOfSource = 20;

/// Blocks whose values are their number, and how often each was read.
class Source {
 public:
  FieldDataset read(int64_t number) {
    ++reads_[static_cast<size_t>(number)];
    if (number == fails_at) throw UsageError("block ", number, " is damaged");
    return {Batch({{"x", at::full({kRowsOfBlock}, number, at::kLong)}}), {}, {}};
  }
  int64_t reads(int64_t number) const { return reads_[static_cast<size_t>(number)]; }

  std::atomic<int64_t> fails_at = -1;

 private:
  std::vector<std::atomic<int64_t>> reads_ = std::vector<std::atomic<int64_t>>(kBlocksOfSource);
};

int64_t bytes_of_blocks(int64_t count) { return count * (kRowsOfBlock * static_cast<int64_t>(sizeof(int64_t)) + 1); }

int64_t value_in(const BlockCache::Block& block) { return block->tensors()["x"][0].item<int64_t>(); }

TEST_CASE("Blocks in their order are each read once, ahead too") {
  for (const int64_t held : {1, 2, 3, 8}) {
    INFO(held << " blocks held");
    Source source;
    {
      BlockCache cache([&](int64_t number) { return source.read(number); }, kBlocksOfSource, bytes_of_blocks(held));
      for (int64_t number = 0; number < kBlocksOfSource; ++number)
        for (int i = 0; i < 3; ++i) REQUIRE(value_in(cache.get(number)) == number);
    }
    for (int64_t number = 0; number < kBlocksOfSource; ++number) {
      INFO("block " << number);
      CHECK(source.reads(number) == 1);
    }
  }
}

TEST_CASE("A block that cannot be read is an error when it is asked for, and again") {
  Source source;
  BlockCache cache([&](int64_t number) { return source.read(number); }, kBlocksOfSource, bytes_of_blocks(8));
  source.fails_at = 1;
  CHECK(value_in(cache.get(0)) == 0);
  for (int i = 0; i < 2; ++i)
    CHECK(error_text<UsageError>([&] { cache.get(1); }).find("block 1 is damaged") != std::string::npos);
  source.fails_at = -1;
  CHECK(value_in(cache.get(1)) == 1);
}

TEST_CASE("Several threads read the same blocks") {
  Source source;
  BlockCache cache([&](int64_t number) { return source.read(number); }, kBlocksOfSource, bytes_of_blocks(6));
  std::atomic<int64_t> wrong = 0;
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int64_t i = 0; i < 400; ++i) {
        const int64_t number = thread % 2 == 0 ? i % kBlocksOfSource : (i * 7 + thread) % kBlocksOfSource;
        wrong += value_in(cache.get(number)) != number;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace levin::data
