#include <levin/data/archive_reader.h>
#include <ATen/ops/from_blob.h>
#include <archive.h>
#include <archive_entry.h>
#include <levin/trainer/core/error.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

/// What a member's header can make us set aside before its bytes have come.
constexpr int64_t kMostReserved = 1 << 26;

bool starts_with_gzip(const MappedFile& file) { return file.text().starts_with("\x1f\x8b"); }

std::string name_of(archive_entry* entry) {
  // In the C locale only one of the two knows names that are not ASCII.
  if (const char* name = archive_entry_pathname_utf8(entry)) return name;
  if (const char* name = archive_entry_pathname(entry)) return name;
  return "";
}

}  // namespace

at::Tensor bytes_view(const void* data, int64_t bytes, std::shared_ptr<const void> owner) {
  return at::from_blob(
      const_cast<void*>(data), {bytes}, [owner = std::move(owner)](void*) {}, at::TensorOptions(at::kByte));
}

void ArchiveReader::Close::operator()(archive* reader) const { archive_read_free(reader); }

ArchiveReader::ArchiveReader(MappedFilePtr file, Format format, int64_t offset)
    : file_(std::move(file)), archive_(archive_read_new()), format_(format) {
  if (!archive_) throw Error(file_->path().string(), ": no memory to read the archive");
  archive* reader = archive_.get();
  compressed_ = format == Format::Tar && starts_with_gzip(*file_);
  if (format == Format::Tar) {
    archive_read_support_format_tar(reader);
    if (compressed_) archive_read_support_filter_gzip(reader);
  } else {
    archive_read_support_format_zip_seekable(reader);
  }
  offset_ = offset;
  // In a compressed archive there is no way to an offset but reading up to it.
  begin_ = compressed_ ? 0 : offset;
  if (begin_ < 0 || begin_ > file_->size()) fail("the file has only " + std::to_string(file_->size()) + " bytes");
  at_end_ = begin_ == file_->size();
  if (at_end_) return;
  if (archive_read_open_memory(reader, file_->data() + begin_, static_cast<size_t>(file_->size() - begin_)) !=
      ARCHIVE_OK) {
    fail(reason());
  }
}

bool ArchiveReader::next() {
  const int64_t least = entry_ ? 0 : offset_;  // what stands before it was read by an earlier reader
  while (!at_end_) {
    name_.clear();
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
  const void* block = nullptr;
  size_t size = 0;
  la_int64_t at = 0;
  const int code = archive_read_data_block(archive_.get(), &block, &size, &at);
  if (code == ARCHIVE_EOF) return read_copied(nullptr, 0, 0);
  if (code != ARCHIVE_OK) fail(reason());
  const auto bytes = static_cast<int64_t>(size);
  const bool whole = at == 0 && archive_entry_size_is_set(entry_) && archive_entry_size(entry_) == bytes;
  const bool mapped = whole && file_->holds(block, bytes);
  // Only behind a zip member's end is its checksum compared, which read_copied does.
  if (!mapped || format_ == Format::Zip) return read_copied(static_cast<const char*>(block), size, at);
  return bytes_view(block, bytes, file_);
}

at::Tensor ArchiveReader::read_copied(const char* block, size_t size, int64_t at) {
  const auto bytes = std::make_shared<std::vector<char>>();
  const int64_t expected = archive_entry_size_is_set(entry_) ? archive_entry_size(entry_) : -1;
  if (expected > 0) bytes->reserve(static_cast<size_t>(std::min(expected, kMostReserved)));
  for (int code = block ? ARCHIVE_OK : ARCHIVE_EOF; code != ARCHIVE_EOF;) {
    if (at != static_cast<int64_t>(bytes->size())) fail("is a sparse file; pack it without --sparse");
    bytes->insert(bytes->end(), block, block + size);
    const void* next_block = nullptr;
    la_int64_t next_at = 0;
    code = archive_read_data_block(archive_.get(), &next_block, &size, &next_at);
    if (code != ARCHIVE_EOF && code != ARCHIVE_OK) fail(reason());
    block = static_cast<const char*>(next_block);
    at = next_at;
  }
  const auto got = static_cast<int64_t>(bytes->size());
  if (expected >= 0 && got != expected) {
    fail("has " + std::to_string(got) + " bytes, its header says " + std::to_string(expected));
  }
  return bytes_view(bytes->data(), got, bytes);
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
