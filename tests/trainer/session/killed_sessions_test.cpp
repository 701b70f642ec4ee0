// Two sessions in two threads of one program (examples/host_loop) that is killed at random moments end as without the
// kills. LEVIN_SESSION_KILLS sets the number of kills (scripts/soak has the long form), LEVIN_KILL_SEED their seed.
#include <levin/core/state/state_file.h>
#include <levin/levin.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include "tests/catch.h"
#include "tests/environment_number.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/checkpoint/spawn.h"

namespace fs = std::filesystem;

namespace {

constexpr std::array kModels = {"first", "second"};

Spawned start_application(const fs::path& folder, const fs::path& log) {
  const char* const program = std::getenv("LEVIN_HOST_LOOP");
  REQUIRE(program != nullptr);
  return {{program, folder.string()}, log};
}

/// Returns the final weights of a model, as the bytes of its file; empty if it has not ended.
std::string final_weights(const fs::path& folder, const char* model) {
  if (!fs::exists(folder / model)) return {};
  for (const auto& version : fs::directory_iterator(folder / model))
    if (fs::exists(version.path() / "weights.pt")) return read_bytes(version.path() / "weights.pt");
  return {};
}

/// Checks that every checkpoint under its final name is whole.
void check_files(const fs::path& folder) {
  if (!fs::exists(folder)) return;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".ckpt") continue;
    INFO(entry.path());
    CHECK_NOTHROW(levin::load_state(entry.path()));
  }
}

}  // namespace

TEST_CASE("two sessions of a program that is killed at random moments end as without the kills") {
  const TemporaryFolder folder;
  const fs::path unbroken = folder / "unbroken", log = folder / "log";
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(start_application(unbroken, log).wait() == 0);
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);

  const int64_t kills = number_from_environment("LEVIN_SESSION_KILLS", 4);
  std::mt19937_64 random(static_cast<uint64_t>(number_from_environment("LEVIN_KILL_SEED", 1)));
  int64_t killed = 0, ended = 0;
  while (killed < kills) {
    const fs::path root = folder / ("killed" + std::to_string(ended));
    for (int code = -1; code != 0;) {
      Spawned application = start_application(root, log);
      std::this_thread::sleep_for(whole * static_cast<int64_t>(random() % 1000) / 1000);
      ::kill(application.id(), SIGKILL);
      code = application.wait();
      INFO("run " << ended << " after " << killed << " kills: " << read_bytes(log));
      REQUIRE((code == 0 || code == -SIGKILL));
      killed += code != 0;
      check_files(root);
    }
    ++ended;
    for (const char* model : kModels) {
      const std::string expected = final_weights(unbroken, model);
      REQUIRE_FALSE(expected.empty());
      CHECK(final_weights(root, model) == expected);
    }
    fs::remove_all(root);
  }
  std::cout << killed << " kills, " << ended << " runs of two sessions ended as the unbroken one\n";
}
