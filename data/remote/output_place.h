#pragma once
#include <filesystem>
#include <functional>
#include <string>

namespace levin {

/// Where a file or a folder is written that an option names: at its path or, if the option names one in a bucket, in a
/// temporary folder, from where `finish` uploads it.
class OutputPlace {
 public:
  /// `option` begins the errors: "--out". Throws levin::UsageError for a URL that is none of a bucket, and as
  /// check_can_upload if the bucket's folder cannot be written to.
  OutputPlace(const std::string& option, const std::string& place);
  /// Removes the temporary folder.
  ~OutputPlace();
  OutputPlace(const OutputPlace&) = delete;
  OutputPlace& operator=(const OutputPlace&) = delete;

  /// The path to write to; its last part is that of the place.
  const std::filesystem::path& path() const { return path_; }
  bool is_in_bucket() const { return !url_.empty(); }
  /// Uploads the file, or all files of the folder; no-op for a path. An object appears when it is complete. Throws as
  /// upload_file.
  void finish() const;

 private:
  std::string url_ = {};                  ///< empty: a path
  std::filesystem::path temporary_ = {};  ///< the folder that the destructor removes
  std::filesystem::path path_;
};

/// Calls `write` with the path of an OutputPlace, and finishes it.
void write_output(const std::string& option, const std::string& place,
                  const std::function<void(const std::filesystem::path& path)>& write);

/// Throws levin::UsageError that begins with `option` if the path is a URL of a server: this option takes local paths.
void require_local(const std::string& option, const std::string& path);

}  // namespace levin
