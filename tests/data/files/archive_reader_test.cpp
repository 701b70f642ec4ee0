#include <levin/data/files/archive_reader.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <fstream>
#include <ostream>
#include <vector>

#include "tests/catch.h"
#include "tests/core/state/zip_builder.h"
#include "tests/data/files/archive_writer.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using namespace levin::data;

namespace {

struct Found {
  std::string name, bytes;
  int64_t offset;
  bool operator==(const Found&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Found& found) {
    return out << found.name << " at " << found.offset << ": " << found.bytes.substr(0, 20);
  }
};

class ArchiveFile {
 public:
  std::vector<Found> read(const std::string& bytes, ArchiveReader::Format format, int64_t offset = 0) {
    write(bytes);
    ArchiveReader reader(map_file(path_), format, offset);
    std::vector<Found> found;
    while (reader.next()) {
      const at::Tensor member = reader.read();
      found.push_back({reader.name(),
                       {static_cast<const char*>(member.const_data_ptr()), static_cast<size_t>(member.numel())},
                       reader.offset()});
    }
    CHECK_FALSE(reader.next());
    return found;
  }
  /// Returns the error message, without the folder in front.
  std::string error(const std::string& bytes, ArchiveReader::Format format) {
    const std::string text = error_text<levin::UsageError>([&] { read(bytes, format); });
    const std::string before = folder_.path().string() + "/";
    return text.rfind(before, 0) == 0 ? text.substr(before.size()) : text;
  }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder folder_ = {};
  std::filesystem::path path_ = folder_ / "a";
};

constexpr auto kTar = ArchiveReader::Format::Tar;
constexpr auto kZip = ArchiveReader::Format::Zip;
const ArchiveMembers kMembers = {{"a/1.txt", "one"}, {"2", std::string(100'000, 'x')}, {"empty", ""}};

}  // namespace

TEST_CASE("the members of a tar file are read, with or without gzip, and from any member on") {
  ArchiveFile archive;
  const std::string tar = tar_bytes(kMembers);
  const std::vector<Found> expected = {
      {"a/1.txt", "one", 0}, {"2", std::string(100'000, 'x'), 1024}, {"empty", "", 1024 + 512 + 100'352}};
  CHECK(archive.read(tar, kTar) == expected);
  CHECK(archive.read(gzip_bytes(tar), kTar) == expected);
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::vector<Found> rest(expected.begin() + static_cast<ptrdiff_t>(i), expected.end());
    CHECK(archive.read(tar, kTar, expected[i].offset) == rest);
    CHECK(archive.read(gzip_bytes(tar), kTar, expected[i].offset) == rest);
  }
  CHECK(archive.read(tar, kTar, static_cast<int64_t>(tar.size()) - 1024).empty());
  CHECK(archive.read(tar, kTar, static_cast<int64_t>(tar.size())).empty());
  // Without the two empty blocks, and with a folder.
  CHECK(archive.read(tar_member("d/", "", '5') + tar_member("d/x", "y"), kTar) ==
        std::vector<Found>{{"d/x", "y", 512}});
}

TEST_CASE("members of a plain tar file are views of the mapped file; others are copies") {
  ArchiveFile archive;
  for (const bool compressed : {false, true}) {
    archive.write(compressed ? gzip_bytes(tar_bytes(kMembers)) : tar_bytes(kMembers));
    const MappedFilePtr file = map_file(archive.path());
    at::Tensor bytes;
    {
      ArchiveReader reader(file, kTar);
      CHECK(reader.is_compressed() == compressed);
      REQUIRE(reader.next());
      REQUIRE(reader.next());
      bytes = reader.read();
    }
    CHECK(file->holds(bytes.const_data_ptr(), bytes.numel()) == !compressed);
    CHECK(bytes.numel() == 100'000);
    CHECK(bytes[99'999].item<int64_t>() == 'x');
  }
}

TEST_CASE("the members of a zip file are read, stored and deflated") {
  ArchiveFile archive;
  for (const bool deflate : {false, true}) {
    const auto found = archive.read(zip_bytes(kMembers, deflate), kZip);
    REQUIRE(found.size() == 3);
    for (size_t i = 0; i < 3; ++i) {
      CHECK(found[i].name == kMembers[i].first);
      CHECK(found[i].bytes == kMembers[i].second);
    }
  }
}

TEST_CASE("names outside ASCII are read from plain and pax headers") {
  ArchiveFile archive;
  CHECK(archive.read(tar_bytes({{"\xc3\xa9.txt", "x"}}), kTar) == std::vector<Found>{{"\xc3\xa9.txt", "x", 0}});
  // pax: a header with the path in UTF-8 before the member.
  const std::string pax = tar_member("x", "14 path=\xc3\xa9\xe2\x82\xac\n", 'x') + tar_member("y", "z");
  CHECK(archive.read(pax, kTar) == std::vector<Found>{{"\xc3\xa9\xe2\x82\xac", "z", 0}});
}

TEST_CASE("a broken archive is named with file, byte and member") {
  ArchiveFile archive;
  const std::string tar = tar_bytes(kMembers);
  std::string damaged = tar;
  damaged[1024 + 5] ^= 1;
  CHECK(contains(archive.error(damaged, kTar), "a: byte 1024: Damaged tar archive"));
  CHECK(archive.error(tar.substr(0, 50'000), kTar) == "a: byte 1024: member 2: Truncated tar archive");
  CHECK(archive.error("hello, this is text", kTar).find("a: byte 0: ") == 0);
  CHECK(archive.error(tar_member("x", "", '2'), kTar) ==
        "a: byte 0: member x: is a link or no plain file; pack the file itself (tar --dereference --hard-dereference)");
  CHECK(contains(archive.error(tar_member("x", "", '1'), kTar), "member x: is a link"));
  const std::string gzip = gzip_bytes(tar);
  CHECK(contains(archive.error(gzip.substr(0, 70'000), kTar), "a: byte 1024: member 2: "));
  std::string zip = zip_bytes(kMembers, false);
  zip[zip.find("one")] = 'O';
  CHECK(contains(archive.error(zip, kZip), "member a/1.txt: ZIP bad CRC"));
  CHECK(contains(archive.error(tar, kZip), "a: byte 0: "));
  archive.write(tar);
  CHECK(contains(error_text<levin::UsageError>([&] { ArchiveReader(map_file(archive.path()), kTar, 1 << 20); }),
                 "byte 1048576: the file has only "));
}

TEST_CASE("a member's beginning is unpacked alone, and read again with the rest") {
  ArchiveFile archive;
  const std::string tar = tar_bytes(kMembers);
  for (const bool is_zip : {false, true}) {
    archive.write(is_zip ? zip_bytes(kMembers, true) : gzip_bytes(tar));
    ArchiveReader reader(map_file(archive.path()), is_zip ? kZip : kTar);
    std::vector<std::string> read;
    while (reader.next()) {
      const auto size = static_cast<size_t>(reader.size());
      const std::string head(reader.peek(2));
      CHECK(head.size() >= std::min<size_t>(size, 2));
      CHECK(reader.peek(1'000'000).size() == size);
      const at::Tensor bytes = reader.read();
      read.emplace_back(static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel()));
      CHECK(read.back().starts_with(head));
    }
    CHECK(read == std::vector<std::string>{kMembers[0].second, kMembers[1].second, kMembers[2].second});
  }
}

TEST_CASE(
    "a member that resumes after its size, or claims more than the archive can hold, is refused before it is "
    "unpacked") {
  ArchiveFile archive;
  const auto zip = [](uint64_t claimed) {
    // The checksum is wrong: who unpacks the member to its end, says that.
    std::string bytes =
        ZipBuilder{
            {{.name = "a", .contents = std::string(1 << 20, 'x'), .is_deflated = true, .crc = 1, .local_crc = 1}}}
            .build();
    for (const size_t place : {size_t{22}, bytes.find("PK\x01\x02") + 24})
      bytes.replace(place, 4, archive_detail::number(claimed, 4));
    return bytes;
  };
  CHECK(archive.error(zip(100), kZip) == "a: byte 0: member a: has more bytes than the 100 that its header says");
  CHECK(archive.error(zip(4'000'000'000), kZip) ==
        "a: byte 0: member a: claims 4000000000 bytes, more than the archive can hold");
  std::string tar = tar_member("a", "some bytes");
  const std::string size = "77777777777";  // octal, 8 GiB
  uint64_t sum = 0;
  tar.replace(124, size.size(), size);
  tar.replace(148, 8, std::string(8, ' '));
  for (size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(tar[i]);
  tar.replace(148, 7, archive_detail::octal(sum, 6) + '\0');
  CHECK(archive.error(gzip_bytes(tar), kTar) ==
        "a: byte 0: member a: claims 8589934591 bytes, more than the archive can hold");
}
