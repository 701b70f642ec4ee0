#include <levin/trainer/run_folder/run_versions.h>
#include <levin/core/state/leftover_files.h>

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace levin {
namespace {

constexpr std::string_view kVersionPrefix = "version_";

}  // namespace

std::optional<int64_t> version_of(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kVersionPrefix)) return {};
  int64_t version = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kVersionPrefix.size(), end, version);
  if (parsed.ec != std::errc() || parsed.ptr != end) return {};
  return version;
}

std::filesystem::path folder_of_version(const std::filesystem::path& parent, int64_t version) {
  return parent / (std::string(kVersionPrefix) + std::to_string(version));
}

void remove_leftovers_of_run(const std::filesystem::path& run_folder, bool keeps_links) {
  for (const std::filesystem::path& folder : {run_folder, run_folder / "checkpoints"}) {
    std::error_code ignored;
    if (std::filesystem::symlink_status(folder, ignored).type() == std::filesystem::file_type::directory)
      remove_leftovers(folder, "", keeps_links);
  }
}

}  // namespace levin
