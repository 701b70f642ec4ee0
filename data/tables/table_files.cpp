#include <levin/data/tables/table_files.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/datasets/readers/tar_shards.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_in(const std::string& folder, const std::vector<std::string>& endings,
                                  const std::string& option) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool fits = std::ranges::any_of(endings, [&](const std::string& ending) { return name.ends_with(ending); });
    std::error_code ignored;
    if (fits && !name.starts_with('.') && !entry->is_directory(ignored)) files.push_back(entry->path().string());
  }
  if (error) throw UsageError(option, ": the folder ", folder, " cannot be read: ", error.message());
  if (files.empty()) throw UsageError(option, ": the folder ", folder, " has no files that end with ", joined(endings));
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<std::string> find_table_files(const std::vector<std::string>& patterns,
                                          const std::vector<std::string>& endings, const std::string& option) {
  if (patterns.empty()) throw UsageError(option, ": not set; it names files that end with ", joined(endings));
  std::vector<std::string> files;
  for (const std::string& name : find_shards(patterns, option)) {
    std::error_code ignored;
    if (fs::is_directory(name, ignored))
      std::ranges::move(files_in(name, endings, option), std::back_inserter(files));
    else
      files.push_back(name);
  }
  return files;
}

}  // namespace levin::data
