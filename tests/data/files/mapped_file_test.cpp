#include <levin/data/files/mapped_file.h>
#include <levin/core/system/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using namespace levin::data;

namespace {

std::string error_of(const std::filesystem::path& path) {
  return error_text<levin::UsageError>([&] { MappedFile file(path); });
}

}  // namespace

TEST_CASE("a mapped file shows the file's bytes, whatever the access") {
  const TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 10000; ++i) bytes += static_cast<char>(i * 7);
  std::ofstream(folder / "x", std::ios::binary) << bytes;
  for (const FileAccess access : {FileAccess::Normal, FileAccess::Sequential, FileAccess::Random}) {
    const MappedFilePtr file = map_file(folder / "x", access);
    CHECK(file->size() == 10000);
    CHECK(file->text() == bytes);
    CHECK(file->path() == folder / "x");
    CHECK(file->holds(file->data(), 10000));
    CHECK(file->holds(file->data() + 9999, 1));
    CHECK(file->holds(file->data() + 10000, 0));
    CHECK_FALSE(file->holds(file->data() + 1, 10000));
    CHECK_FALSE(file->holds(file->data(), 10001));
    CHECK_FALSE(file->holds(bytes.data(), 1));
  }
}

TEST_CASE("what is written into a mapping does not reach the file") {
  const TemporaryFolder folder;
  std::ofstream(folder / "x", std::ios::binary) << "abc";
  {
    const MappedFile file(folder / "x");
    file.data()[1] = 'X';
    CHECK(file.text() == "aXc");
    CHECK(MappedFile(folder / "x").text() == "abc");
  }
  std::ifstream again(folder / "x");
  CHECK(std::string(std::istreambuf_iterator<char>(again), {}) == "abc");
}

TEST_CASE("a file is also read past its mapping, as long as it has the bytes") {
  const TemporaryFolder folder;
  std::ofstream(folder / "x", std::ios::binary) << "abcdef";
  const MappedFile file(folder / "x");
  file.data()[3] = 'X';
  std::string bytes(3, ' ');
  file.read(file.data() + 2, 3, bytes.data());
  CHECK(bytes == "cde");
  std::filesystem::resize_file(folder / "x", 4);
  CHECK(error_text<levin::UsageError>([&] { file.read(file.data() + 2, 3, bytes.data()); }) ==
        (folder / "x").string() + ": byte 4: cannot be read: the file has become shorter");
}

TEST_CASE("a mapping outlives the file's name") {
  const TemporaryFolder folder;
  std::ofstream(folder / "x", std::ios::binary) << "abc";
  const MappedFilePtr file = map_file(folder / "x");
  std::filesystem::remove(folder / "x");
  CHECK(file->text() == "abc");
}

TEST_CASE("a file that cannot be mapped is named with the reason") {
  const TemporaryFolder folder;
  const std::string root = folder.path().string();
  CHECK(error_of(folder / "absent") == root + "/absent: cannot be opened: No such file or directory");
  CHECK(error_of(folder.path()) == root + ": is a folder, not a file");
  std::ofstream(folder / "empty").flush();
  CHECK(error_of(folder / "empty") == root + "/empty: the file is empty");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(error_of(folder / "pipe") == root + "/pipe: is no plain file");
  std::ofstream(folder / "secret") << "abc";
  REQUIRE(::chmod((folder / "secret").c_str(), 0) == 0);
  const std::string expected = ::geteuid() == 0 ? "no error" : root + "/secret: cannot be opened: Permission denied";
  CHECK(error_of(folder / "secret") == expected);
}
