#pragma once
#include <levin/trainer/core/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// One file of a zip archive, as its directory says and as was checked.
struct ZipRecord {
  std::string_view name = {};  ///< with its folders
  uint64_t header = 0;         ///< byte at which its header begins
  uint64_t limit = 0;          ///< byte that is no longer its own
  uint64_t stored_bytes = 0;   ///< in the file
  uint64_t bytes = 0;          ///< of its contents
  uint32_t crc = 0;            ///< of its contents
  uint16_t method = 0;
};

/// Reads a zip archive that lies in memory. The archive is believed in nothing: each number is checked before it is
/// used, no two records may share a byte or a name, and memory is asked for only where the archive's own size allows
/// it.
///
/// All functions throw levin::UsageError, with the file's name and the byte, where the archive is damaged.
class ZipReader {
 public:
  /// Reads the directory at the end of `bytes`, which must stay where they are. `file` is for messages.
  ZipReader(std::string_view bytes, std::string file);

  /// In the order in which they lie in the file.
  const std::vector<ZipRecord>& records() const { return records_; }
  /// The record, or nullptr where there is none of that name.
  const ZipRecord* find(std::string_view name) const;

  /// The record's bytes as they stand in the file; its header is checked against the directory.
  std::string_view stored(const ZipRecord& record) const;
  /// Writes the contents of a deflated record to `out`, which has room for `record.bytes`.
  void inflate(const ZipRecord& record, char* out) const;
  /// Throws unless `crc` is that of the record's contents.
  void check(const ZipRecord& record, uint32_t crc) const;

  template <class... Parts>
  [[noreturn]] void fail(uint64_t offset, const Parts&... parts) const {
    throw UsageError(file_, ": damaged, or not a PyTorch file: ", parts..., " (byte ", offset,
                     " of the file); copy it again, or use another one");
  }

 private:
  struct Directory {
    uint64_t begin = 0, bytes = 0, records = 0;
  };

  uint64_t number(uint64_t at, size_t width) const;
  bool has_signature(uint64_t at, std::string_view signature) const;
  uint64_t find_end() const;
  Directory find_directory() const;
  void read_end64(uint64_t end, Directory& directory) const;
  void read_directory(const Directory& directory);
  ZipRecord read_entry(uint64_t at, uint64_t directory_end, uint64_t& next) const;
  void read_extra64(uint64_t at, uint64_t end, bool has_disk, ZipRecord& record) const;
  void check_order(uint64_t directory_begin);
  void index_names();

  std::string_view bytes_;
  std::string file_;
  std::vector<ZipRecord> records_ = {};
  std::vector<uint32_t> by_name_ = {};
};

}  // namespace levin
