#include <levin/data/datasets/readers/shard_cache.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/data/download/sha256.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/remote/remote_url.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHashDigits = 24;

/// Returns "train-000-1f...9a.shard": the same for all processes, another one for another version of the object.
std::string cache_name(const RemoteObject& object) {
  std::string name = fs::path(shown_url(object.url.substr(0, object.url.find('?')))).stem().string().substr(0, 64);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  const std::string identity =
      without_signature(object.url) + '\n' + std::to_string(object.size) + '\n' + object.version;
  return name + '-' + sha256_of_bytes(identity).substr(0, kHashDigits) + ".shard";
}

/// A mapped file whose lock says that somebody reads it.
struct HeldShard {
  HeldShard(LockedFile locked, const fs::path& path, const std::string& shown)
      : lock(std::move(locked)), file(path, FileAccess::Sequential, shown) {}
  LockedFile lock;
  MappedFile file;
};

MappedFilePtr hold(LockedFile lock, const fs::path& path, const std::string& shown) {
  const auto shard = std::make_shared<const HeldShard>(std::move(lock), path, shown);
  return {shard, &shard->file};
}

int64_t bytes_in(const LockedFile& file) {
  struct stat about = {};
  return ::fstat(file.descriptor(), &about) == 0 && S_ISREG(about.st_mode) ? about.st_size : -1;
}

/// Takes the lock of a file that is to be fetched; nothing if `is_stopped` while another holds it.
std::optional<LockedFile> lock_fetching(const fs::path& path, const std::function<bool()>& is_stopped) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  while (!is_stopped()) {
    if (auto lock = LockedFile::open(path, {.makes = true})) return lock;
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

/// Reads the object into a file; false if `is_stopped`. Its size must be known.
bool read_into(const RemoteObject& object, const fs::path& path, const std::function<bool()>& is_stopped) {
  constexpr int64_t kPieceBytes = int64_t{8} << 20;
  const auto file = LockedFile::open(path, {.makes = true});
  const auto piece = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(std::min(kPieceBytes, object.size)));
  for (int64_t done = 0, bytes = 0; done < object.size; done += bytes) {
    if (is_stopped()) return false;
    bytes = std::min(kPieceBytes, object.size - done);
    read_remote_object(object, done, bytes, piece.get());
    if (const int error = write_all(file->descriptor(), piece.get(), static_cast<size_t>(bytes)))
      throw Error("data.cache_folder: ", path.string(), ": cannot be written: ", std::strerror(error));
  }
  return true;
}

}  // namespace

MappedFilePtr ShardCache::find(const RemoteObject& object, const std::string& name, const std::string& shown) {
  const fs::path path = ledger_.place(name);
  auto lock = LockedFile::open(path, {.kind = LockedFile::Kind::Shared, .waits = true});
  if (!lock) return nullptr;
  if (object.size >= 0 && bytes_in(*lock) != object.size) {
    ledger_.remove(name);
    return nullptr;
  }
  ::futimens(lock->descriptor(), nullptr);  // used now
  return hold(*std::move(lock), path, shown);
}

MappedFilePtr ShardCache::get(const RemoteObject& object, const std::string& shown, bool urgent,
                              const std::function<bool()>& is_stopped) {
  const std::string name = cache_name(object);
  if (MappedFilePtr file = find(object, name, shown)) return file;
  const auto lock = lock_fetching(ledger_.fetching(name), is_stopped);
  if (!lock) return nullptr;
  MappedFilePtr file = find(object, name, shown);  // another process has fetched it meanwhile
  const int64_t bytes = std::max<int64_t>(0, object.size);
  if (!file && ledger_.reserve(name, bytes, urgent)) {
    try {
      file = fetch(object, name, shown, is_stopped);
    } catch (...) {
      give_up(name, bytes);
      throw;
    }
    if (!file) give_up(name, bytes);
  }
  std::error_code ignored;
  fs::remove(ledger_.fetching(name), ignored);
  return file;
}

void ShardCache::give_up(const std::string& name, int64_t bytes) {
  std::error_code ignored;
  fs::remove(ledger_.incoming(name), ignored);
  ledger_.release(name, bytes);
}

MappedFilePtr ShardCache::fetch(const RemoteObject& object, const std::string& name, const std::string& shown,
                                const std::function<bool()>& is_stopped) {
  const fs::path incoming = ledger_.incoming(name);
  if (object.size < 0)
    fetch_remote_object(object, incoming);
  else if (!read_into(object, incoming, is_stopped))
    return nullptr;
  // Locked before it appears, so that no other process removes it.
  auto lock = LockedFile::open(incoming, {.kind = LockedFile::Kind::Shared, .waits = true});
  const int64_t size = lock ? bytes_in(*lock) : -1;
  if (size < 0 || (object.size >= 0 && size != object.size))
    throw Error(shown, ": ", size, " bytes came, expected ", object.size);
  MappedFilePtr file = hold(*std::move(lock), incoming, shown);
  ledger_.commit(name, std::max<int64_t>(0, object.size), size);
  return file;
}

}  // namespace levin::data
