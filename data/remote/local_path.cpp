#include <levin/data/remote/local_path.h>
#include <levin/core/system/error.h>
#include <levin/data/download/file_lock.h>
#include <levin/data/remote/fetch_object.h>
#include <levin/data/remote/file_cache.h>
#include <levin/data/remote/remote_object.h>
#include <levin/data/remote/remote_url.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace levin {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw UsageError(folder.string(), ": this folder cannot be made: ", error.message(),
                     "; set LEVIN_CACHE to the folder that keeps remote files");
}

/// Returns the last part of the URL's path as a name that a file may have.
std::string file_name_of(const std::string& url) {
  constexpr size_t kMostLetters = 100;
  const data::RemoteUrl parts = data::parse_remote_url(url);
  std::string name = parts.is_bucket() ? parts.key : url.substr(0, url.find_first_of("?#"));
  name = name.substr(name.rfind('/') + 1);
  if (!parts.is_bucket()) name = data::percent_decoded(name);
  std::ranges::replace_if(name, [](unsigned char c) { return c < 32 || c == '/'; }, '_');
  if (name.size() > kMostLetters) name.erase(0, name.size() - kMostLetters);
  return name.empty() || name == "." || name == ".." ? "file" : name;
}

void fetch_once(const RemoteObject& object, const fs::path& file) {
  std::error_code none;
  const auto is_there = [&] { return !object.version.empty() && fs::is_regular_file(file, none); };
  if (is_there()) return;
  make_folder(file.parent_path());
  const data::FileLock lock(file.parent_path() / ".lock", "fetches " + data::shown_url(object.url));
  if (is_there()) return;
  data::make_room_for(std::max<int64_t>(0, object.size));
  data::fetch_object(object, file, /*keeps_part=*/true);
}

bool ends_with_one_of(const std::string& name, const auto& endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

/// Leaves out weights in other forms than safetensors, and what is deeper than one folder below.
void leave_out_unread(std::vector<RemoteObject>& objects, size_t prefix) {
  constexpr std::array<std::string_view, 8> kOtherWeights = {".bin", ".pt",   ".pth",  ".h5",
                                                             ".ot",  ".onnx", ".gguf", ".msgpack"};
  const auto is_in_top = [&](const RemoteObject& one) { return one.url.find('/', prefix) == std::string::npos; };
  const bool has_safetensors = std::ranges::any_of(
      objects, [&](const RemoteObject& one) { return is_in_top(one) && one.url.ends_with(".safetensors"); });
  std::erase_if(objects, [&](const RemoteObject& one) {
    const std::string name = one.url.substr(prefix);
    return name.empty() || name.ends_with('/') || std::ranges::count(name, '/') > 1 ||
           (has_safetensors && ends_with_one_of(name, kOtherWeights));
  });
}

}  // namespace

bool is_on_server(const fs::path& path) {
  return is_remote(path.native()) && data::parse_remote_url(path.native()).scheme != data::RemoteScheme::File;
}

fs::path local_path(const fs::path& path) {
  const std::string& url = path.native();
  if (!is_remote(url)) return path;
  const data::RemoteUrl parts = data::parse_remote_url(url);
  if (parts.scheme == data::RemoteScheme::File) return parts.key;
  const RemoteObject object = find_remote_object(url);
  fs::path file = data::take_cached_folder(url, c10::str(object.version, " ", object.size)) / file_name_of(url);
  fetch_once(object, file);
  return file;
}

fs::path local_folder(const fs::path& folder) {
  std::string url = folder.native();
  if (!is_remote(url)) return folder;
  const data::RemoteUrl parts = data::parse_remote_url(url);
  if (parts.scheme == data::RemoteScheme::File) return parts.key;
  if (!parts.is_bucket())
    throw UsageError(
        data::shown_url(url),
        ": a folder is read from s3:// and gs:// alone, since a web server has no listing; download it, and "
        "give the folder with the files");
  if (!url.ends_with('/')) url += '/';
  // One process reads one version of a folder's files.
  static std::mutex mutex;
  static std::map<std::string, fs::path> fetched;
  const std::lock_guard lock(mutex);
  if (const auto found = fetched.find(url); found != fetched.end()) return found->second;
  std::vector<RemoteObject> objects = list_remote_objects(url);
  leave_out_unread(objects, url.size());
  if (objects.empty()) throw UsageError(url, ": there is nothing in this folder");
  std::string version;
  for (const RemoteObject& object : objects) version += object.url + "\n" + object.version + "\n";
  const fs::path cached = data::take_cached_folder(url, version);
  for (const RemoteObject& object : objects) {
    const fs::path file = cached / object.url.substr(url.size());
    if (file.lexically_normal() != file) throw UsageError(object.url, ": this name is no name of a file in a folder");
    fetch_once(object, file);
  }
  return fetched[url] = cached;
}

}  // namespace levin
