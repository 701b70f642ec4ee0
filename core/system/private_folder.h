#pragma once
#include <filesystem>
#include <string>

namespace levin {

/// A folder for temporary files with an unpredictable name, which only this user can enter. The destructor removes it
/// with its contents.
class PrivateFolder {
 public:
  /// Makes `<temporary folder>/levin_<purpose>_XXXXXX`. Throws levin::Error if it cannot be made.
  explicit PrivateFolder(const std::string& purpose);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  /// Makes the destructor leave the folder in place.
  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace levin
