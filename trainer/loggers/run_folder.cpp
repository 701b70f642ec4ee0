#include <levin/trainer/loggers/run_folder.h>
#include <levin/trainer/core/atomic_file.h>
#include <levin/trainer/core/error.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace levin {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "version_";

[[noreturn]] void cannot_create(const fs::path& folder, const std::string& reason) {
  throw UsageError("cannot create the run's folder ", folder.string(), ": ", reason,
                   "; set trainer.default_root_dir (--default-root-dir) to a folder that can be written to");
}

/// One more than the highest version there is.
int64_t next_version(const fs::path& parent) {
  int64_t next = 0;
  std::error_code error;
  fs::directory_iterator entries(parent, error);
  if (error) cannot_create(parent, error.message());
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
    int64_t version = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, version);
    if (parsed.ec == std::errc() && parsed.ptr == end) next = std::max(next, version + 1);
  }
  return next;
}

}  // namespace

fs::path create_run_folder(const fs::path& default_root_dir, const std::string& name) {
  const fs::path below(name);
  if (below.is_absolute() || std::count(below.begin(), below.end(), fs::path(".."))) {
    throw UsageError("name: '", name, "' leads out of default_root_dir; choose a plain name such as mnist_lenet");
  }
  const fs::path parent = default_root_dir / below;
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) cannot_create(parent, error.message());
  for (int64_t version = next_version(parent);; ++version) {
    fs::path folder = parent / (std::string(kPrefix) + std::to_string(version));
    if (::mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST) cannot_create(folder, std::strerror(errno));
  }
}

void write_text_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace levin
