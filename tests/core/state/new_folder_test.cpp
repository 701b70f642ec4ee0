#include <levin/core/state/new_folder.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace fs = std::filesystem;
using levin::NewFolder;

TEST_CASE("a new folder that stays empty is removed, with those that were made above it") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "there");
  for (const char* name : {"there/a/b", "there/c", "d/e/f/"}) {
    {
      const NewFolder made(folder / name);
      CHECK(fs::is_directory(folder / name));
    }
    CHECK_FALSE(fs::exists(folder / name));
  }
  CHECK(fs::is_empty(folder / "there"));
  CHECK_FALSE(fs::exists(folder / "d"));
}

TEST_CASE("a folder that was there, or that has a file, stays") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "there");
  {
    const NewFolder made(folder / "there");
  }
  CHECK(fs::is_directory(folder / "there"));
  {
    const NewFolder made(folder / "a" / "b");
    std::ofstream(folder / "a" / "file") << "text";
  }
  CHECK_FALSE(fs::exists(folder / "a" / "b"));
  CHECK(fs::exists(folder / "a" / "file"));
}

TEST_CASE("a folder that cannot be made leaves none of those above it") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(NewFolder(folder / "a" / std::string(300, 'b')), fs::filesystem_error);
  CHECK_FALSE(fs::exists(folder / "a"));
}
