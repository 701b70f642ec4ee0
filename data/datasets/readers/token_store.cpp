#include <levin/data/datasets/readers/token_store.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>

namespace levin::data {
namespace {

constexpr int64_t kSamplesOfChunk = 64;

}  // namespace

TokenStore::TokenStore(int64_t count, const Encode& encode)
    : count_(count), chunks_(static_cast<size_t>((count + kSamplesOfChunk - 1) / kSamplesOfChunk)) {
  const auto chunks = static_cast<int64_t>(chunks_.size());
  std::vector<std::exception_ptr> errors(chunks_.size());
  std::atomic<int64_t> next = 0, first_failed = chunks;
  const auto encode_chunk = [&](int64_t index) {
    Chunk& chunk = chunks_[static_cast<size_t>(index)];
    const int64_t end = std::min(count, (index + 1) * kSamplesOfChunk);
    for (int64_t sample = index * kSamplesOfChunk; sample < end; ++sample) {
      const std::vector<MarkedToken> tokens = encode(sample);
      chunk.tokens.insert(chunk.tokens.end(), tokens.begin(), tokens.end());
      chunk.ends.push_back(static_cast<int64_t>(chunk.tokens.size()));
    }
    chunk.tokens.shrink_to_fit();
  };
  at::parallel_for(0, at::get_num_threads(), 1, [&](int64_t, int64_t) {
    for (int64_t index = next++; index < first_failed; index = next++) {
      try {
        encode_chunk(index);
      } catch (...) {
        errors[static_cast<size_t>(index)] = std::current_exception();
        int64_t failed = first_failed;
        while (index < failed && !first_failed.compare_exchange_weak(failed, index)) {
        }
      }
    }
  });
  if (first_failed < chunks) std::rethrow_exception(errors[static_cast<size_t>(first_failed)]);
}

std::span<const MarkedToken> TokenStore::sample(int64_t index) const {
  const Chunk& chunk = chunks_[static_cast<size_t>(index / kSamplesOfChunk)];
  const auto within = static_cast<size_t>(index % kSamplesOfChunk);
  const int64_t begin = within == 0 ? 0 : chunk.ends[within - 1];
  return std::span(chunk.tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(chunk.ends[within] - begin));
}

}  // namespace levin::data
