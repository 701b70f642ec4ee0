#pragma once
#include <filesystem>
#include <string>

namespace levin {

/// A folder for temporary files whose name nobody can know beforehand and that only this user can enter; removed with
/// all that is in it when the object goes.
class PrivateFolder {
 public:
  /// Makes `<temporary folder>/levin_<purpose>_XXXXXX`. Throws levin::Error where it cannot be made.
  explicit PrivateFolder(const std::string& purpose);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  /// Leaves the folder where it is.
  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace levin
