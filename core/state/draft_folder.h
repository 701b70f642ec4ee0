#pragma once
#include <filesystem>

namespace levin {

/// A hidden folder ".NAME.PID.draft" beside a path, in which what will be there is made whole before it gets its name.
/// The folder is removed at the end. What killed processes have left for the same path is removed at the beginning.
class DraftFolder {
 public:
  /// Throws levin::UsageError, with `target`, if the folder cannot be made.
  explicit DraftFolder(const std::filesystem::path& target);
  ~DraftFolder();
  DraftFolder(const DraftFolder&) = delete;
  DraftFolder& operator=(const DraftFolder&) = delete;

  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
  int lock_ = -1;  ///< on the folder, for processes of other machines
};

}  // namespace levin
