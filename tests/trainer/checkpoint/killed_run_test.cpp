// Runs that are killed at random moments, or whose disk is full, lose nothing. LEVIN_KILLS sets the number of kills
// (scripts/soak has the long form), LEVIN_KILL_SEED their seed.
#include <levin/core/state/state_file.h>
#include <levin/levin.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/catch.h"
#include "tests/environment_number.h"
#include "tests/file_bytes.h"
#include "tests/trainer/checkpoint/learner.h"
#include "tests/trainer/checkpoint/spawn.h"

namespace fs = std::filesystem;

namespace {

int run_program(std::vector<std::string> arguments, const fs::path& log) {
  return Spawned(std::move(arguments), log).wait();
}

std::string runner() {
  const char* program = std::getenv("LEVIN_RESUME_RUNNER");
  REQUIRE(program != nullptr);
  return program;
}

/// Returns the number of events that the runner printed for a run that ended.
int64_t events_in(const fs::path& log) {
  const std::string said = read_bytes(log);
  return std::stoll(said.substr(said.rfind("events: ") + 8));
}

/// Checks that every checkpoint under its final name is whole, and that last.ckpt is no dangling link.
void check_checkpoints(const fs::path& root) {
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".ckpt") continue;
    INFO(entry.path());
    CHECK_NOTHROW(levin::load_state(entry.path()));
  }
}

/// A run that is killed before its first checkpoint starts from the beginning, in a new folder.
fs::path folder_that_ended(const fs::path& root) {
  for (const auto& entry : fs::directory_iterator(root / "run"))
    if (fs::exists(entry.path() / "summary.json")) return entry.path();
  return {};
}

void check_ends_as(const fs::path& root, const fs::path& unbroken) {
  const fs::path ended = folder_that_ended(root), expected = unbroken / "run" / "version_0";
  const levin::State weights = levin::load_state(ended / "weights.pt");
  CHECK(first_difference(weights, levin::load_state(expected / "weights.pt")) == "");
  CHECK(read_bytes(ended / "weights.pt") == read_bytes(expected / "weights.pt"));
  CHECK(rows_in(ended) == rows_in(expected));
}

}  // namespace

TEST_CASE("a run that is killed at random moments ends as the one that was not") {
  const TemporaryFolder folder;
  const fs::path unbroken = folder / "unbroken", log = folder / "log";
  REQUIRE(run_program({runner(), unbroken.string()}, log) == 0);

  const int64_t events = events_in(log);
  REQUIRE(events > 100);

  const int64_t kills = number_from_environment("LEVIN_KILLS", 12);
  std::mt19937_64 random(static_cast<uint64_t>(number_from_environment("LEVIN_KILL_SEED", 1)));
  int64_t killed = 0, finished = 0;
  for (int number = 0; killed < kills; ++number) {
    const fs::path root = folder / ("killed" + std::to_string(number));
    fs::create_directories(root);
    for (int code = -1; code != 0;) {
      // A run is killed a few times before it ends.
      const int64_t moment = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(events));
      INFO("run " << number << ", kill " << killed << " at event " << moment);
      code = run_program({runner(), root.string(), "kill", std::to_string(moment)}, log);
      INFO(read_bytes(log));
      REQUIRE((code == 0 || code == -SIGKILL));
      killed += code != 0;
      check_checkpoints(root);
    }
    ++finished;
    check_ends_as(root, unbroken);
    fs::remove_all(root);
  }
  std::cout << killed << " kills, " << finished << " runs ended as the unbroken one\n";
}

TEST_CASE("a disk that is full ends the run with an error, and what was saved stays") {
  const TemporaryFolder folder;
  const fs::path unbroken = folder / "unbroken", root = folder / "full", log = folder / "log";
  REQUIRE(run_program({runner(), unbroken.string()}, log) == 0);
  fs::create_directories(root);
  const int64_t events = events_in(log);
  int lost_checkpoints = 0;
  for (const int64_t moment : {events / 5, events / 3, events / 9, events / 3}) {
    const int code = run_program({runner(), root.string(), "full", std::to_string(moment)}, log);
    if (code == 0) break;
    CHECK(code == 1);
    const std::string text = read_bytes(log);
    INFO(text);
    CHECK(text.find("No space left on device") != std::string::npos);
    // At the end of the run the failed file may be weights.pt.
    if (text.find("a checkpoint was not saved") != std::string::npos) {
      ++lost_checkpoints;
      CHECK(text.find("continue with ckpt_path " + (root / "run" / "version_").string()) != std::string::npos);
    }
    check_checkpoints(root);
  }
  CHECK(lost_checkpoints > 0);
  REQUIRE(run_program({runner(), root.string()}, log) == 0);
  check_ends_as(root, unbroken);
}

TEST_CASE("a file system that fills up ends the run with an error, and the run resumes once there is room") {
  const TemporaryFolder folder;
  const fs::path log = folder / "log";
  // Only processes in the namespace see its mounts, so everything is one script. Two checkpoints take 60 kB.
  const std::string script = R"(
    mount -t tmpfs -o size=16m tmpfs "$0/disk" || exit 42
    head -c $((16 * 1024 * 1024 - 60 * 1024)) /dev/zero > "$0/disk/filler" || exit 43
    "$1" "$0/disk/runs"; first=$?
    rm "$0/disk/filler"
    "$1" "$0/disk/runs" || exit 44
    cp -r "$0/disk/runs/run" "$0/run" && exit $first)";
  fs::create_directories(folder / "disk" / "runs");
  const int code = run_program(
      {"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, folder.path().string(), runner()}, log);
  const std::string text = read_bytes(log);
  INFO(text);
  if (code == 42 || text.find("unshare") != std::string::npos) {
    WARN("no file system can be mounted here; the full disk is tested by injected errors alone");
    return;
  }
  CHECK(code == 1);
  CHECK(text.find("No space left on device") != std::string::npos);
  const fs::path unbroken = folder / "unbroken";
  REQUIRE(run_program({runner(), unbroken.string()}, log) == 0);
  check_ends_as(folder.path(), unbroken);
}
