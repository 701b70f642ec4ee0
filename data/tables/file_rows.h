#pragma once
#include <levin/data/python/descriptor.h>
#include <levin/data/tables/owned_column.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::data {

/// Bytes [begin, begin + bytes) of a file.
struct FilePart {
  int64_t begin = 0, bytes = 0;
};

/// Values that lie in a file as they do in memory. Those in one place are mapped, and not copied: if another process
/// shortens the file while they are mapped, an access ends this process with SIGBUS, as with every mapping.
class FileRows {
 public:
  /// Notes which file the path leads to, and its state.
  explicit FileRows(std::string path);

  /// Returns bytes of the file, which are read from the disk here. Returns none if they cannot be mapped, or if the
  /// file is another now or was written to: then what was known of it may hold no longer.
  ColumnBuffer map(const FilePart& part) const;
  /// Returns a copy of parts of the file, one after another. Returns none where `map` would, and if one cannot be read.
  ColumnBuffer copy(const std::vector<FilePart>& parts) const;

 private:
  /// Opens the file; returns none if it is another now.
  Descriptor open_same() const;
  bool has(const FilePart& part) const;

  std::string path_;
  struct stat state_ = {};
};

}  // namespace levin::data
