#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/files/mapped_file.h>

#include <cstdint>
#include <memory>
#include <string>

struct archive;
struct archive_entry;

namespace levin::data {

/// The members of a tar or zip file, one after the other, by libarchive. Used by one thread at a time.
///
/// Errors are levin::UsageError and name the file, the byte at which the member begins, and the member.
class ArchiveReader {
 public:
  /// Tar may be compressed by gzip.
  enum class Format { Tar, Zip };

  /// Begins at `offset`, which must be one that `offset()` gave; bytes of the archive without gzip.
  ArchiveReader(MappedFilePtr file, Format format, int64_t offset = 0);

  /// Goes to the next member, folders left out; false at the end. Links are refused.
  bool next();
  /// The member's path inside the archive, in UTF-8.
  const std::string& name() const { return name_; }
  bool is_compressed() const { return compressed_; }
  /// Where the member begins, in bytes of the archive without gzip.
  int64_t offset() const { return offset_; }
  /// The member's bytes, uint8 [bytes]: those of a large member of a tar file without gzip as a view of the mapped
  /// file, which it keeps alive and which was not touched yet; otherwise a copy. Once for each member.
  at::Tensor read();

 private:
  struct Close {
    void operator()(archive* reader) const;
  };

  struct Source;
  struct Delete {
    void operator()(Source* source) const;
  };

  [[noreturn]] void fail(const std::string& reason) const;
  std::string reason() const;
  int open();
  at::Tensor read_copied();

  MappedFilePtr file_;
  std::unique_ptr<Source, Delete> source_ = {};  // outlives the archive
  std::unique_ptr<archive, Close> archive_;
  archive_entry* entry_ = nullptr;  // owned by the archive
  std::string name_ = {};
  Format format_;
  int64_t begin_ = 0, offset_ = 0;
  bool compressed_ = false, at_end_ = false;
};

/// `bytes` at `data` as uint8 [bytes], which keeps `owner` alive.
at::Tensor bytes_view(const void* data, int64_t bytes, std::shared_ptr<const void> owner);

}  // namespace levin::data
