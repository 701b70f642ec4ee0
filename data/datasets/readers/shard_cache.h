#pragma once
#include <levin/data/datasets/readers/cache_ledger.h>
#include <levin/data/files/mapped_file.h>
#include <levin/data/remote/remote_object.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace levin::data {

/// Objects of servers as files of a folder, which all processes of a machine share: each is fetched once, by one of
/// them, and found again by its URL, size and version. Thread-safe.
///
/// The folder holds at most `limit` bytes; the files used least recently go first, and none that is mapped. A file of
/// another size than the object's is fetched again.
class ShardCache {
 public:
  /// Throws levin::UsageError if the folder cannot be written.
  ShardCache(std::filesystem::path folder, int64_t limit) : ledger_(std::move(folder), limit) {}

  /// Returns the object, mapped; its name in messages is `shown`. Null if `is_stopped` says so meanwhile, or
  /// if there is no room; `urgent` fetches it nevertheless. Throws as fetch_remote_object.
  MappedFilePtr get(const RemoteObject& object, const std::string& shown, bool urgent,
                    const std::function<bool()>& is_stopped);

 private:
  MappedFilePtr find(const RemoteObject& object, const std::string& name, const std::string& shown);
  MappedFilePtr fetch(const RemoteObject& object, const std::string& name, const std::string& shown,
                      const std::function<bool()>& is_stopped);
  void give_up(const std::string& name, int64_t bytes);

  CacheLedger ledger_;
};

}  // namespace levin::data
