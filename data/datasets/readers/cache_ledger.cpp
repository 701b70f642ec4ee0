#include <levin/data/datasets/readers/cache_ledger.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/random_id.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShardEnding = ".shard";
/// The name of an empty file beside a file that is being fetched ends with this and the bytes that are reserved.
constexpr std::string_view kMark = ".reserved-";

void make_cache_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw UsageError("data.cache_folder: ", folder.string(), ": this folder cannot be made: ", error.message());
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    found.push_back(entry->path());
  return found;
}

/// Returns the bytes that the name of a mark reserves; 0 for other files.
int64_t reserved_by(const std::string& name) {
  const size_t at = name.rfind(kMark);
  int64_t bytes = 0;
  if (at == name.npos) return 0;
  const char* const end = name.data() + name.size();
  const auto [stop, code] = std::from_chars(name.data() + at + kMark.size(), end, bytes);
  return code == std::errc() && stop == end ? std::max<int64_t>(0, bytes) : 0;
}

struct UsedFile {
  fs::path path = {};
  int64_t bytes = 0;
  std::pair<int64_t, int64_t> used = {};  ///< seconds and nanoseconds
};

std::vector<UsedFile> files_by_use(const fs::path& folder) {
  std::vector<UsedFile> files;
  for (const fs::path& path : entries_of(folder)) {
    struct stat about = {};
    if (path.extension() != kShardEnding || ::lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    files.push_back({path, about.st_size, {about.st_mtim.tv_sec, about.st_mtim.tv_nsec}});
  }
  std::ranges::sort(files, {}, [](const UsedFile& file) { return std::tie(file.used, file.path); });
  return files;
}

/// Removes a file unless somebody reads it.
bool remove_unused(const fs::path& path) {
  const auto held = LockedFile::open(path, {});
  std::error_code error;
  return held && fs::remove(path, error);
}

/// The sum in the ledger; nothing if it says none.
std::optional<int64_t> sum_in(const LockedFile& ledger) {
  int64_t sum = -1;
  if (::pread(ledger.descriptor(), &sum, sizeof(sum), 0) != sizeof(sum) || sum < 0) return {};
  return sum;
}

void write_sum(const LockedFile& ledger, int64_t sum) {
  sum = std::max<int64_t>(0, sum);
  // A sum that cannot be written is counted again by the next reader.
  if (::pwrite(ledger.descriptor(), &sum, sizeof(sum), 0) != sizeof(sum) && ::ftruncate(ledger.descriptor(), 0) != 0)
    throw Error("data.cache_folder: the ledger cannot be written");
}

}  // namespace

CacheLedger::CacheLedger(fs::path folder, int64_t limit)
    : folder_(std::move(folder)), state_(folder_ / ".streams"), own_(state_ / "incoming" / random_id()), limit_(limit) {
  make_cache_folder(state_ / "fetching");
  make_cache_folder(state_ / "incoming");
  const LockedFile ledger = lock();
  make_cache_folder(own_);
  owner_ = LockedFile::open(own_ / "owner", {.makes = true});
  has_locks_ = !LockedFile::open(own_ / "owner", {});
  sweep();
  write_sum(ledger, evict_down_to(limit_));
}

CacheLedger::~CacheLedger() {
  std::error_code ignored;
  fs::remove_all(own_, ignored);
}

fs::path CacheLedger::fetching(const std::string& name) const { return state_ / "fetching" / name; }

LockedFile CacheLedger::lock() const { return *LockedFile::open(state_ / "ledger", {.waits = true, .makes = true}); }

fs::path CacheLedger::mark_of(const std::string& name, int64_t bytes) const {
  return incoming(name + std::string(kMark) + std::to_string(bytes));
}

void CacheLedger::sweep() const {
  if (!has_locks_) return;
  std::error_code ignored;
  for (const fs::path& folder : entries_of(state_ / "incoming")) {
    const auto dead = LockedFile::open(folder / "owner", {});
    if (dead || !fs::exists(folder / "owner", ignored)) fs::remove_all(folder, ignored);
  }
  for (const fs::path& path : entries_of(state_ / "fetching")) remove_unused(path);
}

int64_t CacheLedger::evict_down_to(int64_t most) const {
  int64_t sum = 0;
  // What is reserved first: a file that appears meanwhile counts twice rather than not at all.
  for (const fs::path& folder : entries_of(state_ / "incoming"))
    for (const fs::path& path : entries_of(folder)) sum += reserved_by(path.filename().string());
  const std::vector<UsedFile> files = files_by_use(folder_);
  for (const UsedFile& file : files) sum += file.bytes;
  for (const UsedFile& file : files) {
    if (sum <= most) break;
    if (remove_unused(file.path)) sum -= file.bytes;
  }
  return sum;
}

bool CacheLedger::reserve(const std::string& name, int64_t bytes, bool urgent) {
  const LockedFile ledger = lock();
  std::optional<int64_t> sum = sum_in(ledger);
  if (!sum || *sum > limit_ - bytes) {
    sweep();
    // Some more are removed than needed, so that not every file counts all others again.
    sum = evict_down_to(std::max<int64_t>(0, limit_ - bytes - limit_ / 16));
  }
  const bool fits = *sum <= limit_ - bytes;
  if (fits || urgent) {
    const auto made = LockedFile::open(mark_of(name, bytes), {.makes = true});
    *sum += bytes;
  }
  write_sum(ledger, *sum);
  if (!fits && urgent && !std::exchange(has_warned_, true))
    console::warn("data.cache_bytes: the shards that are read at once take " + std::to_string(*sum) + " bytes in " +
                  folder_.string() + ", more than the " + std::to_string(limit_) +
                  " allowed; allow more, or use a smaller data.shuffle_buffer");
  return fits || urgent;
}

void CacheLedger::release(const std::string& name, int64_t bytes) {
  const LockedFile ledger = lock();
  std::error_code ignored;
  fs::remove(mark_of(name, bytes), ignored);
  if (const auto sum = sum_in(ledger)) write_sum(ledger, *sum - bytes);
}

void CacheLedger::commit(const std::string& name, int64_t reserved, int64_t size) {
  std::error_code error, ignored;
  fs::rename(incoming(name), place(name), error);
  if (error) throw Error("data.cache_folder: ", place(name).string(), ": cannot be written: ", error.message());
  fs::remove(mark_of(name, reserved), ignored);
  if (size == reserved) return;
  const LockedFile ledger = lock();
  write_sum(ledger, evict_down_to(limit_));
}

void CacheLedger::remove(const std::string& name) {
  const LockedFile ledger = lock();
  std::error_code ignored;
  fs::remove(place(name), ignored);
  write_sum(ledger, evict_down_to(limit_));
}

}  // namespace levin::data
