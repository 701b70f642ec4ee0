#pragma once
#include <levin/data/datasets/readers/shard_options.h>
#include <levin/data/files/mapped_file.h>
#include <levin/data/remote/remote_object.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace levin::data {

class ShardCache;

/// The shards of a data set, which lie in local files or at URLs. Thread-safe.
class ShardList {
 public:
  using Name = std::shared_ptr<const std::string>;

  /// Throws levin::UsageError if there are URLs and the cache folder cannot be written.
  ShardList(std::vector<std::string> places, const ShardOptions& options);

  int64_t size() const { return static_cast<int64_t>(shards_.size()); }
  /// Returns the shard's path or URL, without credentials.
  const Name& name(int64_t shard) const { return shards_[static_cast<size_t>(shard)].name; }
  bool is_remote(int64_t shard) const { return shards_[static_cast<size_t>(shard)].is_remote; }
  /// Shards to fetch ahead.
  int64_t ahead() const { return ahead_; }

  /// Maps a shard, and fetches it before if it is remote and not in the cache. Null as in ShardCache::get. Throws
  /// levin::UsageError for a file that is missing or not readable; levin::Error for a server that fails several times,
  /// and for an object that has become another one since it was first read.
  MappedFilePtr open(int64_t shard, bool urgent, const std::function<bool()>& is_stopped);

 private:
  struct Shard {
    std::string place = {};
    Name name = {};
    bool is_remote = false;
    RemoteObject object = {};  ///< as it was found; without a URL before
    bool was_read = false;
  };
  RemoteObject find_object(Shard& shard);

  std::mutex mutex_ = {};  // of what changes in shards_
  std::vector<Shard> shards_ = {};
  std::shared_ptr<ShardCache> cache_ = {};  // if there are remote shards
  int64_t ahead_;
};

}  // namespace levin::data
