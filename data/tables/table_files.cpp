#include <levin/data/tables/table_files.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/datasets/readers/tar_shards.h>
#include <levin/data/remote/bucket_listing.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/remote_url.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

bool is_table(const std::string& name, const std::vector<std::string>& endings) {
  const auto fits = [&](const std::string& ending) { return name.ends_with(ending); };
  return !name.starts_with('.') && std::ranges::any_of(endings, fits);
}

std::vector<std::string> files_in(const std::string& folder, const std::vector<std::string>& endings,
                                  const std::string& option) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (is_table(name, endings) && !entry->is_directory(ignored)) files.push_back(entry->path().string());
  }
  if (error) throw UsageError(option, ": the folder ", folder, " cannot be read: ", error.message());
  if (files.empty()) throw UsageError(option, ": the folder ", folder, " has no files that end with ", joined(endings));
  std::ranges::sort(files);
  return files;
}

/// Returns the files in a folder of a bucket; none if it is no such folder.
std::vector<std::string> files_in_bucket(const std::string& folder, const std::vector<std::string>& endings,
                                         const std::string& option) {
  const bool may_be_folder = is_on_server(folder) && parse_remote_url(folder).is_bucket() &&
                             !is_table(folder, endings) && folder.find_first_of("*?[{") == folder.npos;
  std::vector<std::string> files;
  if (!may_be_folder) return files;
  const std::span<const RemoteObject> objects = objects_below(folder);
  for (const RemoteObject& object : objects) {
    const std::string name = object.url.substr(folder.size() + (folder.ends_with('/') ? 0 : 1));
    if (name.find('/') == name.npos && is_table(name, endings)) files.push_back(object.url);
  }
  if (!objects.empty() && files.empty())
    throw UsageError(option, ": the folder ", folder, " has no files that end with ", joined(endings));
  return files;
}

}  // namespace

std::vector<std::string> find_table_files(const std::vector<std::string>& patterns,
                                          const std::vector<std::string>& endings, const std::string& option) {
  if (patterns.empty()) throw UsageError(option, ": not set; it names files that end with ", joined(endings));
  std::vector<std::string> names, files;
  for (const std::string& pattern : patterns) {
    std::vector<std::string> in_folder = files_in_bucket(pattern, endings, option);
    if (in_folder.empty()) in_folder.push_back(pattern);
    std::ranges::move(in_folder, std::back_inserter(names));
  }
  for (const std::string& name : find_shards(names, option)) {
    std::error_code ignored;
    if (fs::is_directory(name, ignored))
      std::ranges::move(files_in(name, endings, option), std::back_inserter(files));
    else
      files.push_back(name);
  }
  return files;
}

}  // namespace levin::data
