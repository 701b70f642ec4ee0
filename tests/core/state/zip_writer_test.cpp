#include <levin/core/state/format/zip_writer.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/format/zip_reader.h>

#include <caffe2/serialize/inline_container.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

using levin::ZipReader;
using levin::ZipWriter;

namespace {

/// Memory of any size that holds nothing but zeros and takes no room.
class Zeros {
 public:
  explicit Zeros(size_t bytes)
      : bytes_(bytes), start_(::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (start_ == MAP_FAILED) throw std::runtime_error("mmap");
  }
  ~Zeros() { ::munmap(start_, bytes_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  std::string_view view() const { return {static_cast<const char*>(start_), bytes_}; }

 private:
  size_t bytes_;
  void* start_;
};

/// A file in which long records of zeros are holes.
class SparseFile {
 public:
  explicit SparseFile(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) {}
  ~SparseFile() { ::close(descriptor_); }
  SparseFile(const SparseFile&) = delete;
  SparseFile& operator=(const SparseFile&) = delete;
  void write(const void* data, size_t bytes) {
    constexpr size_t kHole = 1 << 20;
    const bool done = bytes < kHole ? ::pwrite(descriptor_, data, bytes, end_) == static_cast<ssize_t>(bytes) : true;
    if (!done) throw std::runtime_error("pwrite");
    end_ += static_cast<off_t>(bytes);
  }

 private:
  int descriptor_;
  off_t end_ = 0;
};

}  // namespace

TEST_CASE("an archive is byte for byte what LibTorch's own writer makes") {
  std::string ours, theirs;
  ZipWriter writer("archive",
                   [&](const void* data, size_t bytes) { ours.append(static_cast<const char*>(data), bytes); });
  caffe2::serialize::PyTorchStreamWriter reference([&](const void* data, size_t bytes) {
    theirs.append(static_cast<const char*>(data), bytes);
    return bytes;
  });
  writer.add("byteorder", "little");
  reference.writeRecord("byteorder", "little", 6);
  for (size_t i = 0; i < 300; ++i) {
    const std::string contents(i * i % 777, static_cast<char>(i)), name = "data/" + std::to_string(i);
    writer.add(name, contents);
    reference.writeRecord(name, contents.data(), contents.size());
  }
  writer.add("version", "3\n");
  const std::string fingerprint = writer.fingerprint();
  CHECK(fingerprint.size() == 40);
  CHECK(fingerprint.find_first_not_of("0123456789") == std::string::npos);
  reference.writeEndOfFile();
  // The last record is LibTorch's own fingerprint.
  const ZipReader read(theirs, "theirs");
  const levin::ZipRecord* last = read.find("archive/.data/serialization_id");
  REQUIRE(last);
  writer.add(".data/serialization_id", read.stored(*last));
  writer.finish();
  CHECK((ours == theirs));
}

TEST_CASE("records and archives of more than 4 GiB are written as zip64 has it") {
  constexpr uint64_t kBig = (uint64_t{4} << 30) + 5;
  const TemporaryFolder folder;
  {
    const Zeros zeros(kBig);
    SparseFile file(folder / "big.pt");
    ZipWriter writer("archive", [&](const void* data, size_t bytes) { file.write(data, bytes); });
    writer.add("data/0", zeros.view());
    writer.add("data/1", "behind 4 GiB");
    writer.add("version", "3\n");
    writer.finish();
  }
  const levin::FileBytes file = levin::map_file_bytes(folder / "big.pt");
  const ZipReader reader(file.text(), "big.pt");
  const levin::ZipRecord *big = reader.find("archive/data/0"), *behind = reader.find("archive/data/1");
  REQUIRE((big && behind));
  CHECK(reader.stored(*big).size() == kBig);
  CHECK(reader.stored(*behind) == "behind 4 GiB");
  CHECK(behind->header > kBig);
  caffe2::serialize::PyTorchStreamReader theirs((folder / "big.pt").string());
  for (const char* name : {"data/0", "data/1"}) {
    const levin::ZipRecord* record = reader.find(std::string("archive/") + name);
    CHECK(theirs.getRecordSize(name) == record->bytes);
    const size_t offset = theirs.getRecordOffset(name);
    CHECK(offset % 64 == 0);
    CHECK(offset == static_cast<size_t>(reader.stored(*record).data() - file.data));
  }
}
