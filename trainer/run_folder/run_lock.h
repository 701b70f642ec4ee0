#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace levin {

/// The lock of a run's folder, held by the process that writes there. The system releases it when the process ends,
/// however it ends.
class RunLock {
 public:
  /// Holds nothing.
  RunLock() = default;
  /// Locks the folder. Throws levin::UsageError, which names the holder, if another process has the lock. On a file
  /// system without locks it warns and continues without.
  explicit RunLock(const std::filesystem::path& run_folder);
  ~RunLock() { release(); }
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  void release();

  /// Returns the holder of a folder's lock: "process 12 on node1, since 2026-01-31 12:00:00 UTC". nullopt if it is not
  /// locked.
  static std::optional<std::string> holder(const std::filesystem::path& run_folder);
  /// The name of the lock file in a run's folder.
  static constexpr const char* kFile = ".lock";

 private:
  int descriptor_ = -1;
};

}  // namespace levin
