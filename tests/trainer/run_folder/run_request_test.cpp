#include <levin/trainer/run_folder/run_request.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/catch.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::RunRequest;

TEST_CASE("what is asked of a run is read as it was written, and taken back") {
  const TemporaryFolder folder;
  CHECK(levin::read_run_request(folder.path()) == RunRequest::None);
  for (const RunRequest request : {RunRequest::Pause, RunRequest::Stop, RunRequest::None, RunRequest::Pause}) {
    levin::ask_run(folder.path(), request);
    CHECK(levin::read_run_request(folder.path()) == request);
  }
  levin::mark_paused(folder.path(), true);
  CHECK(levin::is_marked_paused(folder.path()));
  levin::mark_paused(folder.path(), false);
  CHECK_FALSE(levin::is_marked_paused(folder.path()));
  levin::mark_paused(folder.path(), true);
  levin::clear_run_requests(folder.path());
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_THROWS(levin::ask_run(folder / "none", RunRequest::Stop));
}

TEST_CASE("a request that is none asks nothing, and holds nobody") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / levin::kRequestFile;
  for (const std::string text : {"", "pause", "pause\n\n", "STOP\n", "stop it\n", std::string(100000, 'p').c_str()}) {
    write_bytes(file, text);
    CHECK(levin::read_run_request(folder.path()) == RunRequest::None);
  }
  std::filesystem::remove(file);
  write_bytes(folder / "elsewhere", "stop\n");
  std::filesystem::create_symlink(folder / "elsewhere", file);
  CHECK(levin::read_run_request(folder.path()) == RunRequest::None);
  std::filesystem::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK(levin::read_run_request(folder.path()) == RunRequest::None);
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  CHECK(levin::read_run_request(folder.path()) == RunRequest::None);
  levin::RunRequestReader nobody{{}};
  CHECK(nobody.now() == RunRequest::None);
}
