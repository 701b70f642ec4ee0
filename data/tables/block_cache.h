#pragma once
#include <levin/data/datasets/readers/field_dataset.h>

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace levin::data {

/// Blocks of samples, read when they are first asked for and held as long as there is room; those used longest ago go
/// first. If blocks are asked for one after another, the next one is read ahead by a thread. Safe for several threads,
/// which wait for one another if they ask for the same block.
class BlockCache {
 public:
  using Block = std::shared_ptr<const FieldDataset>;
  using Read = std::function<FieldDataset(int64_t)>;

  /// Holds at most `most_bytes` of tensors, or else the block asked for last.
  BlockCache(Read read, int64_t blocks, int64_t most_bytes)
      : read_(std::move(read)), blocks_(blocks), most_bytes_(most_bytes) {}
  /// Waits for a block that is being read ahead.
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  /// Throws what `read` throws; the block is then read again when it is asked for again.
  Block get(int64_t number);

 private:
  struct Entry {
    std::shared_future<Block> block = {};
    int64_t bytes = 0;  ///< 0 while it is read
    std::list<int64_t>::iterator place = {};
  };
  using Promise = std::shared_ptr<std::promise<Block>>;
  Promise claim(int64_t number);
  void forget(int64_t number);
  Block fill(int64_t number, const Promise& promise);
  Block find_or_read(int64_t number);
  void make_room(int64_t number);
  void read_ahead(int64_t number, const Block& before);

  Read read_;
  int64_t blocks_, most_bytes_, bytes_ = 0;
  std::mutex mutex_ = {};
  std::list<int64_t> used_ = {};  ///< the block used last comes first
  std::map<int64_t, Entry> entries_ = {};
  int64_t next_ = 0;  ///< the block behind the one asked for last
  bool is_reading_ahead_ = false;
  std::thread ahead_ = {};
};

}  // namespace levin::data
