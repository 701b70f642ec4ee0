#include <levin/data/remote/output_place.h>
#include <levin/core/system/error.h>
#include <levin/core/system/random_id.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/remote_url.h>
#include <levin/data/remote/upload.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

namespace levin {
namespace {

namespace fs = std::filesystem;

/// Returns the files of a folder and of those in it, by name.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

fs::path new_temporary_folder() {
  fs::path folder = fs::temp_directory_path() / ("levin-" + random_id());
  std::error_code error;
  if (!fs::create_directory(folder, error) || error)
    throw UsageError(folder.string(), ": this folder cannot be made: ", error.message(),
                     "; set TMPDIR to a folder with room for what is uploaded");
  fs::permissions(folder, fs::perms::owner_all, error);
  return folder;
}

}  // namespace

OutputPlace::OutputPlace(const std::string& option, const std::string& place) : path_(place) {
  if (!is_on_server(place)) {
    path_ = local_path(place);
    return;
  }
  url_ = place;
  while (url_.ends_with('/')) url_.pop_back();
  const data::RemoteUrl parts = data::parse_remote_url(url_);
  const size_t slash = parts.key.rfind('/');
  const std::string name = parts.key.substr(slash == std::string::npos ? 0 : slash + 1);
  if (parts.is_bucket() && (name.empty() || name == "." || name == ".."))
    throw UsageError(option, ": ", place, ": the name of a file or folder was expected after the bucket");
  check_can_upload(option, url_.substr(0, url_.rfind('/')));
  temporary_ = new_temporary_folder();
  path_ = temporary_ / name;
}

OutputPlace::~OutputPlace() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void OutputPlace::finish() const {
  if (!is_in_bucket()) return;
  // A sharded checkpoint has parts beside it, and they come first.
  for (const fs::path& file : files_below(temporary_)) {
    const std::string name = file.lexically_relative(temporary_).generic_string();
    if (file != path_) upload_file(file, url_.substr(0, url_.rfind('/') + 1) + name);
  }
  if (fs::is_regular_file(path_)) upload_file(path_, url_);
}

void write_output(const std::string& option, const std::string& place,
                  const std::function<void(const fs::path& path)>& write) {
  const OutputPlace output(option, place);
  write(output.path());
  output.finish();
}

void require_local(const std::string& option, const std::string& path) {
  if (!is_on_server(path)) return;
  throw UsageError(option, ": ", data::shown_url(path), " is a URL, and a path of this machine was expected");
}

}  // namespace levin
