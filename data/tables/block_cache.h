#pragma once
#include <levin/data/datasets/readers/array_files.h>

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>

namespace levin::data {

/// Blocks of samples, read when they are first asked for and held as long as there is room; those used longest ago go
/// first. Safe for several threads, which wait for one another if they ask for the same block.
class BlockCache {
 public:
  using Block = std::shared_ptr<const ArrayFields>;
  using Read = std::function<ArrayFields(int64_t)>;

  /// Holds at most `most_bytes` of tensors, or else the block asked for last.
  BlockCache(Read read, int64_t most_bytes) : read_(std::move(read)), most_bytes_(most_bytes) {}

  /// Throws what `read` throws; the block is then read again when it is asked for again.
  Block get(int64_t number);

 private:
  struct Entry {
    std::shared_future<Block> block = {};
    int64_t bytes = 0;  ///< 0 while it is read
    std::list<int64_t>::iterator place = {};
  };
  void make_room(int64_t number);

  Read read_;
  int64_t most_bytes_, bytes_ = 0;
  std::mutex mutex_ = {};
  std::list<int64_t> used_ = {};  ///< the block used last comes first
  std::map<int64_t, Entry> entries_ = {};
};

}  // namespace levin::data
