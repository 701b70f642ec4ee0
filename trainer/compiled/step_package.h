#pragma once
#include <levin/core/state/file_bytes.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace levin::compiled {

/// The files of a package, in memory; nothing of them is run.
class StepPackage {
 public:
  /// Compares all checksums. Throws levin::UsageError if the file is missing or damaged, or has one name in two
  /// folders.
  explicit StepPackage(const std::filesystem::path& path) : StepPackage(map_file_bytes(path)) {}
  explicit StepPackage(FileBytes file);

  /// Returns the text of levin_step.json; empty if there is none.
  std::string_view description() const;
  /// Writes the code to `folder`, as AOTInductor's loader expects it. Throws levin::Error if it cannot be written.
  void unpack_code(const std::filesystem::path& folder) const;

 private:
  FileBytes file_;
  std::map<std::string, std::string_view> files_ = {};  ///< by name, without the folder of the archive
  std::map<std::string, std::string> inflated_ = {};    ///< the memory of compressed ones
};

}  // namespace levin::compiled
