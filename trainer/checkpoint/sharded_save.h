#pragma once
#include <levin/core/ranks/comm.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/format/state_to_pickle.h>
#include <levin/core/state/sharded_file.h>
#include <levin/core/state/state.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace levin {

/// One save of a sharded checkpoint: every rank writes its part and tells rank 0, which then writes the index
/// (checkpoint_parts.h). Until that moment there is no checkpoint, and one of the same name stays as it was.
///
/// Rank 0 opens the temporary file of the index before any rank writes: as long as it is there, the parts are not taken
/// for leftovers of a killed process.
class ShardedSave {
 public:
  /// `index`: the tree of the index; only rank 0's counts. `timeout`: how long rank 0 waits for the parts of the others
  /// when its own is written. Collective: all ranks call it. If rank 0 cannot write there, it throws levin::Error, and
  /// the others get null. `comm` must outlive the object.
  static std::shared_ptr<ShardedSave> begin(const std::filesystem::path& path, State index, Comm& comm,
                                            std::chrono::milliseconds timeout);
  ~ShardedSave();

  const std::string& id() const { return index_.save; }
  /// Returns the contents of this rank's part. `shards`: by the keys of the index's marks.
  State part(State shards) const { return part_of_checkpoint(index_, comm_.rank(), std::move(shards)); }

  /// Writes this rank's part. Rank 0 then waits for the other parts, writes the index, and returns true; the others
  /// return false. On rank 0 it throws levin::Error, and removes the parts, if a rank could not write its part, has not
  /// written it in time, or wrote it where rank 0 does not see it. Any thread may call it.
  bool write(const PickledState& part);
  /// Ends the wait of `write` with an error. Any thread may call it.
  void cancel() { is_cancelled_ = true; }

 private:
  ShardedSave(std::filesystem::path path, ShardedIndex index, Comm& comm, std::chrono::milliseconds timeout);
  void write_own(const PickledState& part);
  void wait_for(int64_t rank, std::chrono::steady_clock::time_point end);
  void check_visible(int64_t rank, const std::string& host) const;
  std::string note_of(int64_t rank) const;

  std::filesystem::path path_;
  ShardedIndex index_;
  Comm& comm_;
  std::chrono::milliseconds timeout_;
  std::atomic<bool> is_cancelled_ = false;
  std::optional<AtomicFile> file_ = {};  ///< of the index, on rank 0
  std::string bytes_ = {};               ///< of the index
};

}  // namespace levin
