#pragma once
#include <filesystem>
#include <optional>
#include <utility>

namespace levin::data {

/// An open file with a lock (flock) that threads and processes respect, released when the object is destroyed or the
/// process ends. File systems without locks give it to everybody.
class LockedFile {
 public:
  enum class Kind { Shared, Exclusive };
  struct Options {
    Kind kind = Kind::Exclusive;
    bool waits = false;  ///< for others that hold the lock
    bool makes = false;  ///< the file, if it is missing
  };

  /// Returns the file that lies at `path` once it is locked; nothing if there is no such file, or if another holds the
  /// lock and `waits` is not set. Throws levin::UsageError if the file is there and cannot be opened, or cannot be
  /// made.
  static std::optional<LockedFile> open(const std::filesystem::path& path, Options options);

  LockedFile(LockedFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LockedFile& operator=(LockedFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~LockedFile();
  int descriptor() const { return descriptor_; }

 private:
  explicit LockedFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace levin::data
