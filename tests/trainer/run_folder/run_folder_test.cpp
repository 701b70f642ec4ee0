#include <levin/trainer/run_folder/run_folder.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/leftover_files.h>
#include <levin/core/system/error.h>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/loggers/child_process.h"

using namespace levin;

namespace {

std::filesystem::path create_run_folder(const std::filesystem::path& root, const std::string& name) {
  return RunFolder::create(root, name, "").path();
}

}  // namespace

TEST_CASE("a run's folder takes the version after the highest") {
  TemporaryFolder root;
  CHECK(create_run_folder(root.path() / "new", "mnist") == root.path() / "new" / "mnist" / "version_0");
  CHECK(create_run_folder(root.path() / "new", "mnist") == root.path() / "new" / "mnist" / "version_1");
  for (const char* name : {"version_9", "version_x", "version_11b", "other"})
    std::filesystem::create_directory(root.path() / "new" / "mnist" / name);
  CHECK(create_run_folder(root.path() / "new", "mnist").filename() == "version_10");
  CHECK(std::filesystem::is_directory(root.path() / "new" / "mnist" / "version_10"));
  CHECK(create_run_folder(root.path() / "new", "group/mnist") == root.path() / "new" / "group" / "mnist" / "version_0");
}

TEST_CASE("Processes that start together get different run folders") {
  constexpr int kProcesses = 4, kFolders = 50;
  TemporaryFolder root;
  std::vector<ChildProcess> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.emplace_back([&](const ChildProcess::Tell& tell) {
      for (int j = 0; j < kFolders; ++j) tell(create_run_folder(root.path(), "run").string() + "\n");
    });
  }
  std::set<std::string> folders;
  for (ChildProcess& child : children) {
    std::istringstream lines(child.read_all());
    for (std::string line; std::getline(lines, line);) folders.insert(line);
    CHECK(child.wait() == 0);
  }
  CHECK(folders.size() == kProcesses * kFolders);
}

TEST_CASE("a run's folder that cannot be made says why") {
  TemporaryFolder root;
  std::ofstream(root.path() / "file") << "x";
  const std::string message = error_text<UsageError>([&] { create_run_folder(root.path() / "file", "run"); });
  CHECK(contains(message, "file/run"));
  CHECK(contains(message, "default_root_dir"));
  CHECK_THROWS_AS(create_run_folder("/proc/levin", "run"), UsageError);
  CHECK_THROWS_AS(create_run_folder(root.path(), "../run"), UsageError);
  CHECK_THROWS_AS(create_run_folder(root.path(), "/run"), UsageError);
}

TEST_CASE("write_text_file_atomically replaces the whole file") {
  TemporaryFolder root;
  write_text_file_atomically(root.path() / "config.json", "a longer text");
  write_text_file_atomically(root.path() / "config.json", "short");
  CHECK(read_bytes(root.path() / "config.json") == "short");
  CHECK(std::distance(std::filesystem::directory_iterator(root.path()), {}) == 1);
}

TEST_CASE("a run keeps its id over its sessions, which have one start each") {
  TemporaryFolder root;
  std::string id;
  std::filesystem::path path;
  {
    RunFolder first = RunFolder::create(root.path(), "run", "job 1");
    id = first.id();
    path = first.path();
    CHECK(id.size() == 32);
    CHECK_FALSE(first.is_resumed());
    first.note_checkpoint(path / "checkpoints" / "x.ckpt");
    first.note_checkpoint(root.path() / "elsewhere" / "x.ckpt");
    first.note_checkpoint(root.path() / "elsewhere" / "y.ckpt");
  }
  FoundCheckpoint found{.run_folder = path, .lock = RunLock(path)};
  const RunFolder second = RunFolder::resume(found, "job 2");
  CHECK(second.is_resumed());
  CHECK(second.id() == id);
  const auto record = read_run_record(path);
  REQUIRE(record);
  CHECK(record->starts == std::vector<std::string>{"job 1", "job 2"});
  CHECK(record->checkpoint_folders == std::vector<std::string>{(root.path() / "elsewhere").string()});
  CHECK(RunFolder::create(root.path(), "run", "").id() != id);
}

TEST_CASE("the error names the process that holds the lock of a run's folder, and a killed process releases it") {
  TemporaryFolder root;
  std::filesystem::path path = RunFolder::create(root.path(), "run", "").path();
  CHECK_FALSE(RunLock::holder(path));
  ChildProcess child([&](const ChildProcess::Tell& tell) {
    const RunLock lock(path);
    tell(std::to_string(::getpid()));
    ::pause();
  });
  const std::string process = child.read_some();
  CHECK(contains(RunLock::holder(path).value_or(""), "process " + process + " on "));
  CHECK(contains(error_text<UsageError>([&] { RunLock second(path); }),
                 "the run in " + path.string() + " is being written by process " + process + " on "));
  child.kill(SIGKILL);
  child.wait();
  CHECK_FALSE(RunLock::holder(path));
  CHECK_NOTHROW(RunLock(path));
}

TEST_CASE("a folder that was removed while its run went on is made again for the end") {
  const TemporaryFolder root;
  const RunFolder run = RunFolder::create(root.path(), "run", "");
  const CapturedStderr captured;
  run.make_again_if_removed();
  CHECK(captured.text().empty());
  std::filesystem::remove_all(run.path());
  run.make_again_if_removed();
  CHECK(std::filesystem::exists(run.path() / "run.json"));
  CHECK(contains(captured.text(), "the run's folder was removed during the run"));
  RunFolder().make_again_if_removed();
}

TEST_CASE("a folder without anything of a training is removed, any other stays") {
  TemporaryFolder root;
  RunFolder bare = RunFolder::create(root.path(), "run", "");
  const auto path = bare.path();
  bare.write_config("{}");
  std::ofstream(path / "metrics.csv") << "epoch,step,wall_seconds\n";
  std::filesystem::create_directory(path / "checkpoints");
  std::ofstream(path / "notes.txt") << "mine";
  bare.remove_if_bare();
  CHECK(std::filesystem::exists(path / "config.json"));
  std::filesystem::remove(path / "notes.txt");
  std::ofstream(path / "checkpoints" / "x.ckpt") << "x";
  bare.remove_if_bare();
  CHECK(std::filesystem::exists(path / "config.json"));
  std::filesystem::remove(path / "checkpoints" / "x.ckpt");
  bare.remove_if_bare();
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(bare.empty());
}

TEST_CASE("a new run removes what killed processes have left in earlier versions, and nothing of live ones") {
  namespace fs = std::filesystem;
  TemporaryFolder root;
  const ::pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ::waitpid(ended, nullptr, 0);
  const fs::path first = create_run_folder(root.path(), "run"), elsewhere = root.path() / "elsewhere";
  fs::create_directories(first / "checkpoints");
  fs::create_directories(elsewhere);
  const std::vector<fs::path> left = {first / temporary_name("run.json", ended, 0),
                                      first / temporary_name("environment.json", ended, 2),
                                      first / "checkpoints" / temporary_name("last.ckpt", ended, 3)};
  const std::vector<fs::path> kept = {first / temporary_name("summary.json", ::getpid(), 0), first / ".hidden.tmp",
                                      elsewhere / temporary_name("a.ckpt", ended, 3)};
  for (const std::vector<fs::path>& files : {left, kept})
    for (const fs::path& file : files) write_bytes(file, "half");
  const fs::path second = create_run_folder(root.path(), "run");
  for (const fs::path& file : left) CHECK_FALSE(fs::exists(file));
  for (const fs::path& file : kept) CHECK(fs::exists(file));
  // A link leads to a folder that is no part of the run.
  fs::create_directory_symlink(elsewhere, second / "checkpoints");
  create_run_folder(root.path(), "run");
  CHECK(fs::exists(kept.back()));
}
