#pragma once
#include <levin/core/system/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// One file of a zip archive: its directory entry, after checks.
struct ZipRecord {
  std::string_view name = {};  ///< including its folders
  uint64_t header = 0;         ///< byte offset of its header
  uint64_t limit = 0;          ///< byte offset of its end: the next header or the directory
  uint64_t stored_bytes = 0;   ///< compressed size, in the file
  uint64_t bytes = 0;          ///< uncompressed size
  uint32_t crc = 0;            ///< of the uncompressed contents
  uint16_t method = 0;
};

/// Reads a zip archive in memory. The archive is not trusted: each number is checked before it is used, no two records
/// may share a byte or a name, and memory is allocated only in proportion to the archive's own size.
///
/// All functions throw levin::UsageError, with the file's name and the byte, if the archive is damaged.
class ZipReader {
 public:
  /// Reads the directory at the end of `bytes`, which must stay where they are. `file` and `kind` are for messages.
  ZipReader(std::string_view bytes, std::string file, const char* kind = "a PyTorch file");

  /// Returns the records in file order.
  const std::vector<ZipRecord>& records() const { return records_; }
  /// Returns the record, or nullptr if there is none of that name.
  const ZipRecord* find(std::string_view name) const;

  /// Returns the record's bytes as stored in the file, after checking its header against the directory.
  std::string_view stored(const ZipRecord& record) const;
  /// Decompresses a deflated record to `out`, which has room for `record.bytes` bytes.
  void inflate(const ZipRecord& record, char* out) const;
  /// Returns the CRC of a deflated record's contents, which are decompressed in pieces and not kept.
  uint32_t inflated_crc(const ZipRecord& record) const;
  /// Throws if deflated records claim more bytes together than the archive has and 64 MB, or one claims more than
  /// deflate can pack: for readers that keep what they unpack.
  void check_growth() const;
  /// Throws unless `crc` is the CRC of the record's contents.
  void check(const ZipRecord& record, uint32_t crc) const;

  template <class... Parts>
  [[noreturn]] void fail(uint64_t offset, const Parts&... parts) const {
    throw UsageError(file_, ": damaged, or not ", kind_, ": ", parts..., " (byte ", offset,
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
  template <class Room, class Take>
  void inflate(const ZipRecord& record, const Room& room, const Take& take) const;
  void index_names();

  std::string_view bytes_;
  std::string file_;
  const char* kind_;
  std::vector<ZipRecord> records_ = {};
  std::vector<uint32_t> by_name_ = {};
};

}  // namespace levin
