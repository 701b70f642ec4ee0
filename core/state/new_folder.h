#pragma once
#include <filesystem>
#include <vector>

namespace levin {

/// A folder for files, made with those above it that are missing. The destructor removes again what was made and is
/// still empty, so that a failed write leaves no folder.
class NewFolder {
 public:
  /// Throws std::filesystem::filesystem_error.
  explicit NewFolder(const std::filesystem::path& folder);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

 private:
  void remove_empty();

  std::vector<std::filesystem::path> made_ = {};  ///< the innermost first
};

}  // namespace levin
