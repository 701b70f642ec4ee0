#include <levin/data/files/archive_reader.h>
#include <archive.h>
#include <archive_entry.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <levin/core/state/format/zip_format.h>
#include <levin/core/system/error.h>
#include <levin/data/files/bytes_view.h>
#include <levin/data/files/utf8.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace levin::data {
namespace {

/// The block size of reads, which holds the headers between two members. Smaller members are copied, since they mostly
/// lie in the same block.
constexpr int64_t kBlock = 4096, kLeastView = kBlock;
/// The read-ahead requested from the system, in bytes.
constexpr int64_t kReadAhead = 1 << 25;

bool starts_with_gzip(const MappedFile& file) { return file.text().starts_with("\x1f\x8b"); }

std::string name_of(archive_entry* entry) {
  // In the C locale only one of the two functions returns names that are not ASCII; the UTF-8 one is slow.
  const char* const plain = archive_entry_pathname(entry);
  if (plain && is_ascii(plain)) return plain;
  if (const char* name = archive_entry_pathname_utf8(entry)) return name;
  return plain ? plain : "";
}

}  // namespace

/// The input of libarchive for an uncompressed tar file: small blocks by read(), so that only readers of the members'
/// bytes touch the mapped pages.
struct ArchiveReader::Source {
  static la_ssize_t read(archive* reader, void* source, const void** block) {
    Source& self = *static_cast<Source*>(source);
    const int64_t bytes = std::min<int64_t>(self.buffer.size(), self.file->size() - self.position);
    try {
      self.look_ahead();
      self.file->read(self.file->data() + self.position, bytes, self.buffer.data());
    } catch (const Error& error) {
      archive_set_error(reader, EIO, "%s", error.what());
      return ARCHIVE_FATAL;
    }
    self.position += bytes;
    *block = self.buffer.data();
    return static_cast<la_ssize_t>(bytes);
  }
  static la_int64_t skip(archive* /*reader*/, void* source, la_int64_t bytes) {
    Source& self = *static_cast<Source*>(source);
    const int64_t skipped = std::min(bytes, self.file->size() - self.position);
    self.position += skipped;
    return skipped;
  }
  void look_ahead() {
    if (position + kReadAhead / 2 < ahead || ahead >= file->size()) return;
    const int64_t begin = std::max(position, ahead);
    file->will_need(begin, kReadAhead);
    ahead = begin + kReadAhead;
  }

  const MappedFile* file;
  int64_t position, ahead = 0;
  std::array<char, kBlock> buffer = {};
};

void ArchiveReader::Delete::operator()(Source* source) const { delete source; }
void ArchiveReader::Close::operator()(archive* reader) const { archive_read_free(reader); }

ArchiveReader::ArchiveReader(MappedFilePtr file, Format format, int64_t offset)
    : file_(std::move(file)), archive_(archive_read_new()), format_(format) {
  if (!archive_) throw Error(file_->path().string(), ": no memory to read the archive");
  compressed_ = format == Format::Tar && starts_with_gzip(*file_);
  offset_ = offset;
  // A compressed archive has no random access: it is read up to the offset.
  begin_ = compressed_ ? 0 : offset;
  if (begin_ < 0 || begin_ > file_->size()) fail("the file has only " + std::to_string(file_->size()) + " bytes");
  at_end_ = begin_ == file_->size();
  if (!at_end_ && open() != ARCHIVE_OK) fail(reason());
}

int ArchiveReader::open() {
  archive* reader = archive_.get();
  if (format_ == Format::Tar && !compressed_) {
    archive_read_support_format_tar(reader);
    source_.reset(new Source{.file = file_.get(), .position = begin_});
    return archive_read_open2(reader, source_.get(), nullptr, Source::read, Source::skip, nullptr);
  }
  if (compressed_) {
    archive_read_support_format_tar(reader);
    archive_read_support_filter_gzip(reader);
  } else {
    archive_read_support_format_zip_seekable(reader);
  }
  return archive_read_open_memory(reader, file_->data(), static_cast<size_t>(file_->size()));
}

bool ArchiveReader::next() {
  const int64_t least = entry_ ? 0 : offset_;  // an earlier reader has read the members before it
  while (!at_end_) {
    name_.clear();
    head_.clear();
    const int code = archive_read_next_header(archive_.get(), &entry_);
    if (code == ARCHIVE_EOF) {
      at_end_ = true;
      break;
    }
    offset_ = begin_ + archive_read_header_position(archive_.get());
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) fail(reason());
    if (offset_ < least || archive_entry_filetype(entry_) == AE_IFDIR) continue;
    name_ = name_of(entry_);
    if (archive_entry_filetype(entry_) != AE_IFREG || archive_entry_hardlink(entry_)) {
      fail("is a link or no plain file; pack the file itself (tar --dereference --hard-dereference)");
    }
    return true;
  }
  return false;
}

at::Tensor ArchiveReader::read() {
  const int64_t bytes = archive_entry_size(entry_);
  if (archive_entry_sparse_count(entry_) > 0) fail("is a sparse file; pack it without --sparse");
  if (!source_ || bytes < kLeastView || !head_.empty()) return read_copied();
  const int64_t begin = begin_ + archive_filter_bytes(archive_.get(), 0);
  if (bytes > file_->size() - begin) fail("Truncated tar archive");
  return bytes_view(file_->data() + begin, bytes, file_);
}

int64_t ArchiveReader::size() const { return archive_entry_size_is_set(entry_) ? archive_entry_size(entry_) : 0; }

/// Unpacks the member's next block, which begins at its byte `position`; false at its end.
bool ArchiveReader::next_block(int64_t position, std::string_view& block) {
  const void* data = nullptr;
  size_t bytes = 0;
  la_int64_t at = 0;
  const int code = archive_read_data_block(archive_.get(), &data, &bytes, &at);
  if (code == ARCHIVE_EOF) return false;
  if (code != ARCHIVE_OK) fail(reason());
  if (at != position) fail("is a sparse file; pack it without --sparse");
  if (static_cast<int64_t>(bytes) > size() - position) {
    fail("has more bytes than the " + std::to_string(size()) + " that its header says");
  }
  block = {static_cast<const char*>(data), bytes};
  return true;
}

std::string_view ArchiveReader::peek(int64_t bytes) {
  std::string_view block;
  while (static_cast<int64_t>(head_.size()) < bytes && next_block(static_cast<int64_t>(head_.size()), block)) {
    head_ += block;
  }
  return head_;
}

at::Tensor ArchiveReader::read_copied() {
  const int64_t expected = size();
  if (expected / static_cast<int64_t>(zip::kMostDeflated) > file_->size()) {
    fail("claims " + std::to_string(expected) + " bytes, more than the archive can hold");
  }
  std::shared_ptr<at::DataPtr> memory;
  try {
    memory = std::make_shared<at::DataPtr>(c10::GetCPUAllocator()->allocate(static_cast<size_t>(expected)));
  } catch (const c10::Error&) {
    fail("has " + std::to_string(expected) + " bytes, for which there is no memory");
  }
  auto* const to = static_cast<char*>(memory->get());
  auto got = static_cast<int64_t>(head_.size());
  if (got > 0) std::memcpy(to, head_.data(), head_.size());
  for (std::string_view block; next_block(got, block); got += static_cast<int64_t>(block.size())) {
    if (!block.empty()) std::memcpy(to + got, block.data(), block.size());
  }
  if (got != expected) {
    fail("has " + std::to_string(got) + " bytes, its header says " + std::to_string(expected));
  }
  head_.clear();
  return bytes_view(to, got, memory);
}

std::string ArchiveReader::reason() const {
  const char* text = archive_error_string(archive_.get());
  return text ? text : "cannot be read";
}

void ArchiveReader::fail(const std::string& reason) const {
  const std::string member = name_.empty() ? "" : "member " + name_ + ": ";
  throw UsageError(file_->path().string(), ": byte ", offset_, ": ", member, reason);
}

}  // namespace levin::data
