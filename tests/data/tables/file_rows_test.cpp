#include <levin/data/tables/file_rows.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace levin::data {
namespace {

/// More than a page, so that places in later pages are mapped too.
std::string numbered_bytes() {
  std::string bytes(20000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i / 7);
  return bytes;
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_CASE("Rows of a file are mapped from any byte on") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "rows", bytes = numbered_bytes();
  write(path, bytes);
  const FileRows rows(path);
  for (const int64_t begin : {0, 1, 4095, 4096, 12345, 19999})
    for (const int64_t count : {int64_t{1}, 20000 - begin}) {
      const ColumnBuffer mapped = rows.map({begin, count});
      REQUIRE(mapped.get() != nullptr);
      CHECK(mapped.size == count);
      CHECK(std::string_view(reinterpret_cast<const char*>(mapped.get()), static_cast<size_t>(count)) ==
            std::string_view(bytes).substr(static_cast<size_t>(begin), static_cast<size_t>(count)));
    }
}

TEST_CASE("Parts of a file are copied one after another, in any order and more than once") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "rows", bytes = numbered_bytes();
  write(path, bytes);
  const FileRows rows(path);
  const ColumnBuffer copied = rows.copy({{12345, 5000}, {1, 3}, {19999, 1}, {2, 3}});
  REQUIRE(copied.get() != nullptr);
  CHECK(std::string(reinterpret_cast<const char*>(copied.get()), static_cast<size_t>(copied.size)) ==
        bytes.substr(12345, 5000) + bytes.substr(1, 3) + bytes.substr(19999) + bytes.substr(2, 3));
  CHECK(rows.copy({{0, 5}, {19999, 2}}).get() == nullptr);
  CHECK(rows.copy({{0, 5}, {-1, 2}}).get() == nullptr);
  std::filesystem::resize_file(path, 50);
  CHECK(rows.copy({{0, 5}}).get() == nullptr);
}

TEST_CASE("Rows outside of a file are not mapped") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "rows";
  write(path, numbered_bytes());
  const FileRows rows(path);
  constexpr int64_t kMost = INT64_MAX;
  for (const auto& [begin, count] :
       {std::pair<int64_t, int64_t>(-1, 5), {0, 20001}, {20000, 1}, {0, 0}, {0, -1}, {kMost, kMost}})
    CHECK(rows.map({begin, count}).get() == nullptr);
  CHECK(FileRows(folder.path() / "absent").map({0, 1}).get() == nullptr);
  CHECK(FileRows(folder.path()).map({0, 1}).get() == nullptr);
}

TEST_CASE("Rows of a file that is another now, or was written to, are not mapped") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "rows", other = folder.path() / "other";
  write(path, numbered_bytes());
  const FileRows rows(path);
  REQUIRE(rows.map({0, 100}).get() != nullptr);
  const auto written = std::filesystem::last_write_time(path);
  write(other, numbered_bytes());
  std::filesystem::last_write_time(other, written);
  std::filesystem::rename(path, folder.path() / "old");
  std::filesystem::rename(other, path);
  CHECK(rows.map({0, 100}).get() == nullptr);  // of the same size and time
  std::filesystem::rename(folder.path() / "old", path);
  CHECK(rows.map({0, 100}).get() != nullptr);
  std::filesystem::last_write_time(path, written + std::chrono::microseconds(1));
  CHECK(rows.map({0, 100}).get() == nullptr);
  std::filesystem::last_write_time(path, written);
  std::filesystem::resize_file(path, 50);
  CHECK(rows.map({0, 10}).get() == nullptr);
  std::filesystem::remove(path);
  CHECK(rows.map({0, 10}).get() == nullptr);
}

}  // namespace
}  // namespace levin::data
