#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace levin {

/// The lock of a run's folder, which the process that writes there holds; the system releases it when the process ends,
/// however it ends.
class RunLock {
 public:
  /// Holds nothing.
  RunLock() = default;
  /// Throws levin::UsageError, which names the holder, where another has it. Where the file system knows no locks it
  /// warns and goes without.
  explicit RunLock(const std::filesystem::path& run_folder);
  ~RunLock() { release(); }
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  void release();

  /// Who holds the lock of a folder: "process 12 on node1, since 2026-01-31 12:00:00 UTC". Nothing where nobody does.
  static std::optional<std::string> holder(const std::filesystem::path& run_folder);
  /// The lock's file in a run's folder.
  static constexpr const char* kFile = ".lock";

 private:
  int descriptor_ = -1;
};

}  // namespace levin
