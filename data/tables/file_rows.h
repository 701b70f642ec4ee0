#pragma once
#include <levin/data/tables/owned_column.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace levin::data {

/// Values that lie in a file as they do in memory: they are mapped, and not copied. If another process shortens the
/// file while they are mapped, an access ends this process with SIGBUS, as with every mapping.
class FileRows {
 public:
  /// Notes which file the path leads to, and its state.
  explicit FileRows(std::string path);

  /// Returns bytes [begin, begin + bytes) of the file, which are read from the disk here. Returns none if they cannot
  /// be mapped, or if the file is another now or was written to: then what was known of it may hold no longer.
  ColumnBuffer map(int64_t begin, int64_t bytes) const;

 private:
  std::string path_;
  struct stat state_ = {};
};

}  // namespace levin::data
