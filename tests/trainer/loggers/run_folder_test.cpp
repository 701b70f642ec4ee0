#include <levin/trainer/loggers/run_folder.h>
#include <levin/trainer/core/error.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/loggers/child_process.h"

using namespace levin;

TEST_CASE("create_run_folder takes the version after the highest") {
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

TEST_CASE("create_run_folder says why it cannot") {
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
