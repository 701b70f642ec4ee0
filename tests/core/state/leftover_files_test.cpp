#include <levin/core/state/leftover_files.h>
#include <fcntl.h>
#include <levin/core/state/atomic_file.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

namespace fs = std::filesystem;

namespace {

/// Returns the id of a process that has ended.
::pid_t ended_process() {
  const ::pid_t process = ::fork();
  if (process == 0) ::_exit(0);
  ::waitpid(process, nullptr, 0);
  return process;
}

fs::path leave(const TemporaryFolder& folder, const std::string& name, ::pid_t process) {
  const fs::path file = folder / levin::temporary_name(name, process, 3);
  write_bytes(file, "half");
  return file;
}

}  // namespace

TEST_CASE("a process that writes a file removes what killed processes have left of such files") {
  const TemporaryFolder folder;
  const fs::path left = leave(folder, "a.ckpt", ended_process());
  const fs::path other_kind = leave(folder, "a.json", ended_process());
  levin::write_text_file_atomically(folder / "b.ckpt", "whole");
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(other_kind));
  CHECK(read_bytes(folder / "b.ckpt") == "whole");
}

TEST_CASE("a temporary file stays while its process runs or somebody holds its lock") {
  const TemporaryFolder folder;
  const fs::path of_live = leave(folder, "a.ckpt", ::getpid());
  // The file of a process on another machine, whose process id is free here.
  const fs::path locked = leave(folder, "b.ckpt", ended_process());
  const int lock = ::open(locked.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  levin::remove_leftovers(folder.path(), ".ckpt");
  CHECK(fs::exists(of_live));
  CHECK(fs::exists(locked));
  ::close(lock);
  levin::remove_leftovers(folder.path(), ".ckpt");
  CHECK_FALSE(fs::exists(locked));
}

TEST_CASE("what only looks like a temporary file stays, and so does a second name of a file for a while") {
  const TemporaryFolder folder;
  const std::string process = std::to_string(ended_process());
  for (const std::string& name :
       std::vector<std::string>{".a.ckpt.x.1.tmp", ".a.ckpt.1.tmp", "a.ckpt." + process + ".1.tmp",
                                ".a.ckpt." + process + ".1", ".a.ckptx." + process + ".1.tmp"})
    write_bytes(folder / name, "x");
  write_bytes(folder / "whole.ckpt", "x");
  fs::create_hard_link(folder / "whole.ckpt", folder / (".last.ckpt." + process + ".1.tmp"));
  levin::remove_leftovers(folder.path(), ".ckpt");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 7);
  levin::remove_leftovers(folder.path(), ".ckpt", /*keeps_links=*/false);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 6);
  CHECK(fs::exists(folder / "whole.ckpt"));
}

TEST_CASE("a file that is being written is locked") {
  const TemporaryFolder folder;
  levin::AtomicFile file(folder / "a.ckpt");
  const fs::path temporary = fs::directory_iterator(folder.path())->path();
  const int other = ::open(temporary.c_str(), O_RDWR | O_CLOEXEC);
  CHECK(::flock(other, LOCK_EX | LOCK_NB) != 0);
  ::close(other);
  file.commit();
  CHECK(fs::exists(folder / "a.ckpt"));
}
