#include <levin/data/files/archive_reader.h>
#include <levin/data/files/missing_library.h>

#include <utility>

struct archive {};

namespace levin::data {

struct ArchiveReader::Source {};

void ArchiveReader::Delete::operator()(Source* source) const { delete source; }
void ArchiveReader::Close::operator()(archive* reader) const { delete reader; }

ArchiveReader::ArchiveReader(MappedFilePtr file, Format format, int64_t offset)
    : file_(std::move(file)), format_(format), offset_(offset) {
  fail("");
}

bool ArchiveReader::next() { return false; }

int64_t ArchiveReader::size() const { return 0; }

std::string_view ArchiveReader::peek(int64_t /*bytes*/) { return {}; }

at::Tensor ArchiveReader::read() { return {}; }

void ArchiveReader::fail(const std::string& /*reason*/) const {
  throw MissingLibrary(
      file_->path().string(), ": this levin is built without libarchive (LEVIN_ARCHIVE=OFF) and reads no ",
      format_ == Format::Tar ? "tar" : "zip", " files; unpack the file, or build levin with libarchive-dev");
}

}  // namespace levin::data
