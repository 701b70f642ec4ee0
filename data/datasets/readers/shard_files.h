#pragma once
#include <levin/data/datasets/readers/shard_list.h>
#include <levin/data/files/mapped_file.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace levin::data {

/// Opens the shards of a list in a given order, and fetches those that come next from their servers meanwhile, by
/// threads. Used by one thread at a time.
class ShardFiles {
 public:
  ShardFiles(std::shared_ptr<ShardList> shards, std::vector<int64_t> order);
  /// Waits for transfers that have begun.
  ~ShardFiles();
  ShardFiles(const ShardFiles&) = delete;
  ShardFiles& operator=(const ShardFiles&) = delete;

  const std::vector<int64_t>& order() const { return order_; }
  /// Returns the shard `order()[turn]`. Turns do not decrease. Throws as ShardList::open.
  MappedFilePtr open(int64_t turn);
  /// Returns a shard out of turn.
  MappedFilePtr open_shard(int64_t shard) const;

 private:
  struct Ahead;

  void start_threads();
  static void fetch(Ahead& ahead);

  std::shared_ptr<ShardList> shards_;
  std::vector<int64_t> order_;
  std::shared_ptr<Ahead> ahead_ = {};  // made when the first remote shard is opened
  std::vector<std::thread> threads_ = {};
};

}  // namespace levin::data
