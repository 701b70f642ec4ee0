#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/files/mapped_file.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct archive;
struct archive_entry;

namespace levin::data {

/// Reads the members of a tar or zip file in sequence, with libarchive. Not thread-safe.
///
/// Errors are levin::UsageError and name the file, the byte offset of the member, and the member.
class ArchiveReader {
 public:
  /// A tar file may be compressed by gzip.
  enum class Format { Tar, Zip };

  /// Starts at `offset`, a value that `offset()` returned: bytes in the uncompressed archive.
  ArchiveReader(MappedFilePtr file, Format format, int64_t offset = 0);

  /// Goes to the next member and skips folders; false at the end. Throws levin::UsageError for a link.
  bool next();
  /// Returns the member's path inside the archive, in UTF-8.
  const std::string& name() const { return name_; }
  bool is_compressed() const { return compressed_; }
  /// Returns the member's byte offset in the uncompressed archive.
  int64_t offset() const { return offset_; }
  /// Returns the number of bytes that the archive says the member has.
  int64_t size() const;
  /// Unpacks the member's beginning, of which `read` returns the rest: at least `bytes` bytes, or all if it has fewer.
  /// Valid until `next` and `read`.
  std::string_view peek(int64_t bytes);
  /// Returns the member's bytes, uint8 [bytes]. For a large member of an uncompressed tar file, the tensor is a view of
  /// the mapped file, keeps the mapping alive, and its pages have not been read yet; otherwise it is a copy. Call it
  /// once per member. Memory is taken for as many bytes as `size` says, and touched as they are unpacked: a member that
  /// claims more than the archive can hold, or resumes after them, is an error.
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
  bool next_block(int64_t position, std::string_view& block);
  at::Tensor read_copied();

  MappedFilePtr file_;
  std::unique_ptr<Source, Delete> source_ = {};  // outlives the archive
  std::unique_ptr<archive, Close> archive_;
  archive_entry* entry_ = nullptr;  // owned by the archive
  std::string name_ = {};
  std::string head_ = {};  // what was unpacked of the member before it is read
  Format format_;
  int64_t begin_ = 0, offset_ = 0;
  bool compressed_ = false, at_end_ = false;
};

}  // namespace levin::data
