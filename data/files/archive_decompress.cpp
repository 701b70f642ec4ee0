#include <archive.h>
#include <archive_entry.h>
#include <levin/core/system/error.h>
#include <levin/data/files/decompress.h>

#include <memory>

namespace levin::data {
namespace {

/// A text shrinks to a third or a tenth. What unpacks to more than this many times its size was made to fill memory.
constexpr size_t kMostExpansion = 1000;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

[[noreturn]] void fail_to_unpack(const FileBytes& file, archive* reader) {
  const char* const reason = archive_error_string(reader);
  throw UsageError(file.name, ": cannot be unpacked: ", reason ? reason : "the file is broken");
}

}  // namespace

std::string decompress(const FileBytes& file) {
  const std::unique_ptr<archive, FreeArchive> reader(archive_read_new());
  if (!reader) throw Error(file.name, ": no memory to unpack the file");
  // Others would start programs, or take a text for something packed.
  archive_read_support_filter_bzip2(reader.get());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_lz4(reader.get());
  archive_read_support_filter_xz(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_entry* entry = nullptr;
  if (archive_read_open_memory(reader.get(), file.data, file.size) != ARCHIVE_OK ||
      archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK)
    fail_to_unpack(file, reader.get());
  std::string text;
  while (true) {
    const void* block = nullptr;
    size_t bytes = 0;
    la_int64_t offset = 0;
    const int code = archive_read_data_block(reader.get(), &block, &bytes, &offset);
    if (code == ARCHIVE_EOF) return text;
    if (code != ARCHIVE_OK) fail_to_unpack(file, reader.get());
    if ((text.size() + bytes) / kMostExpansion > file.size)
      throw UsageError(file.name, ": unpacks to more than ", kMostExpansion,
                       " times its size, as no text does; unpack it yourself if that is right");
    text.append(static_cast<const char*>(block), bytes);
  }
}

}  // namespace levin::data
