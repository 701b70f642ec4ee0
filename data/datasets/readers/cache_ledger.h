#pragma once
#include <levin/data/datasets/readers/locked_file.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace levin::data {

/// How many bytes the files of a cache folder take, those that are still being fetched included, for all processes that
/// share the folder.
///
/// Only files with the ending `.shard` belong to the cache. Below `.streams` of the folder are `ledger`, whose lock
/// each change holds, `fetching/NAME`, locked by the one who fetches a file, and `incoming/ID/`, where the process ID
/// writes. A file appears by rename, so that a process may be killed at any moment: what it leaves in `incoming` is not
/// locked and swept by the next one.
class CacheLedger {
 public:
  /// Makes the folders, sweeps what killed processes left, and counts. Throws levin::UsageError if the folder cannot be
  /// written.
  CacheLedger(std::filesystem::path folder, int64_t limit);
  ~CacheLedger();
  CacheLedger(const CacheLedger&) = delete;
  CacheLedger& operator=(const CacheLedger&) = delete;

  std::filesystem::path place(const std::string& name) const { return folder_ / name; }
  /// Where this process writes the file `name` before it appears.
  std::filesystem::path incoming(const std::string& name) const { return own_ / name; }
  /// The file whose lock the process holds that fetches `name`.
  std::filesystem::path fetching(const std::string& name) const;

  /// Takes `bytes` for the file `name`, by removing the files that were used least recently and that nobody reads.
  /// False, and nothing taken, if there is no room; `urgent` takes the bytes all the same, with a warning.
  bool reserve(const std::string& name, int64_t bytes, bool urgent);
  /// Gives back what was reserved for a file that did not come.
  void release(const std::string& name, int64_t bytes);
  /// Moves the file of `size` bytes from `incoming` to its place.
  void commit(const std::string& name, int64_t reserved, int64_t size);
  /// Removes a file that is not what it should be.
  void remove(const std::string& name);

 private:
  LockedFile lock() const;
  /// An empty file that says in its name what is reserved for another.
  std::filesystem::path mark_of(const std::string& name, int64_t bytes) const;
  /// Removes folders of processes that have ended.
  void sweep() const;
  /// Counts all files and what is reserved, and removes files until the sum is at most `most`.
  int64_t evict_down_to(int64_t most) const;

  std::filesystem::path folder_, state_, own_;
  int64_t limit_;
  std::optional<LockedFile> owner_ = {};  // of own_
  bool has_locks_ = true;                 // otherwise nothing tells who is alive, and nothing is swept
  bool has_warned_ = false;
};

}  // namespace levin::data
