#include <levin/trainer/loggers/wandb_file.h>
#include <levin/core/system/error.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::WandbFile;

TEST_CASE("a file of wandb is continued behind its last whole record, wherever it was cut") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "run-x.wandb";
  {
    WandbFile file(path);
    for (size_t i = 0; i < 40; ++i)
      file.append(std::string(i * 331, static_cast<char>('a' + i % 26)));  // over 7 blocks
    file.append(std::string(100'000, 'z'));                                // in several parts
    CHECK(file.records() == 41);
    CHECK(file.size() == static_cast<int64_t>(read_bytes(path).size()));
  }
  const std::string whole = read_bytes(path);
  int64_t records = 41;
  for (size_t size = whole.size(); size > 7; size -= std::min<size_t>(size, 997)) {
    write_bytes(path, whole.substr(0, size));
    const WandbFile file(path);
    REQUIRE(file.size() <= static_cast<int64_t>(size));
    REQUIRE(read_bytes(path) == whole.substr(0, static_cast<size_t>(file.size())));
    REQUIRE(file.records() <= records);
    records = file.records();
  }
  std::string broken = whole;
  broken[40'000] ^= 1;
  write_bytes(path, broken);
  CHECK(WandbFile(path).size() <= 40'000);
}

TEST_CASE("a file of wandb goes back to an earlier size") {
  const TemporaryFolder folder;
  WandbFile file(folder.path() / "run-x.wandb");
  file.append("one");
  const int64_t size = file.size();
  file.append(std::string(50'000, 'x'));
  file.cut(size, 1);
  file.append("two");
  CHECK(file.records() == 2);
  CHECK(WandbFile(file.path()).records() == 2);
}

TEST_CASE("what is no file of wandb is an error, and stays") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "run-x.wandb";
  write_bytes(path, "something else");
  CHECK(contains(error_text([&] { WandbFile file(path); }), "expected a file of wandb's offline runs; move it away"));
  CHECK(read_bytes(path) == "something else");
  CHECK(contains(error_text([&] { WandbFile file(folder.path() / "none" / "x"); }), "cannot open the file"));
}
