// The same program under launchers that others have written: torchrun, mpirun, and two machines without any.
#include <sys/stat.h>

#include "tests/trainer/launch/ranks.h"

namespace {

const RankedFits::Flags kHalfBatch = {"--data.batch_size", "32"};

bool is_installed(const std::string& program) {
  const std::string command = "command -v " + program + " > /dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

}  // namespace

TEST_CASE("torchrun starts the ranks") {
  const char* const python = std::getenv("LEVIN_TEST_PYTHON");
  if (python == nullptr || *python == '\0') {
    WARN("skipped: LEVIN_TEST_PYTHON names no Python with torch");
    return;
  }
  const RankedFits fits;
  const RankedFits::Flags torchrun = {python,           "-m",   "torch.distributed.run", "--no-python",
                                      "--nnodes",       "1",    "--nproc-per-node",      "2",
                                      "--rdzv-backend", "c10d", "--rdzv-endpoint",       "127.0.0.1:0"};
  CHECK(difference(fits.weights("torchrun", kHalfBatch, torchrun), fits.weights("one", {})) < 1e-10);
  CHECK(contains(fits.log("torchrun"), "strategy ddp (2 ranks of torchrun)"));
  // Flags that say something else are refused, by each rank.
  RankedFits::Flags three = kHalfBatch;
  three.insert(three.end(), {"--devices", "3"});
  CHECK(fits.start("three", three, torchrun).wait() != 0);
  CHECK(contains(fits.log("three"), "trainer.devices asks for 3 on each machine, and torchrun has started 2 ranks"));
}

TEST_CASE("mpirun starts the ranks") {
  if (!is_installed("mpirun")) {
    WARN("skipped: there is no mpirun (Debian's openmpi-bin)");
    return;
  }
  const RankedFits fits;
  // By way of the script that users are given, whose first two words the command has already.
  const std::string script = std::string(std::getenv("LEVIN_CONFIGS")) + "/mpi/ddp.sh";
  std::vector<std::string> words = fits.command("mpirun", kHalfBatch);
  const std::string program = "LEVIN=" + words[0];
  words.erase(words.begin(), words.begin() + 2);
  words.insert(words.begin(), script);
  CHECK(Spawned(words, fits.folder / "mpirun.log", {program, "RANKS=2"}).wait() == 0);
  INFO(fits.log("mpirun"));
  CHECK(difference(fits.saved_weights("mpirun"), fits.weights("one", {})) < 1e-10);
  CHECK(contains(fits.log("mpirun"), "strategy ddp (2 ranks of mpirun)"));
}

TEST_CASE("two machines of two ranks each, with a supervisor on each") {
  const RankedFits fits;
  RankedFits::Flags flags = {"--devices", "2", "--num-nodes", "2", "--data.batch_size", "16"};
  // A port that was free a moment ago.
  const int64_t port = levin::StoreServer().port();
  const auto variables = [&](int node) {
    return std::vector<std::string>{"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(port),
                                    "NODE_RANK=" + std::to_string(node)};
  };
  Spawned second(fits.command("nodes", flags), fits.folder / "second.log", variables(1));
  CHECK(fits.start("nodes", flags, {}, variables(0)).wait() == 0);
  CHECK(second.wait() == 0);
  INFO(fits.log("nodes"));
  CHECK(difference(fits.saved_weights("nodes"), fits.weights("one", {})) < 1e-10);
}

TEST_CASE("a master that cannot be reached, and a port that is taken, are named") {
  const RankedFits fits;
  const RankedFits::Flags flags = {"--timeout-seconds", "2"};
  const auto rank = [](int number, const std::string& port) {
    return std::vector<std::string>{
        "RANK=" + std::to_string(number), "WORLD_SIZE=2",       "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
        "MASTER_ADDR=127.0.0.1",          "MASTER_PORT=" + port};
  };
  CHECK(fits.start("alone", flags, {}, rank(1, "1")).wait() == 2);
  INFO(fits.log("alone"));
  CHECK(contains(fits.log("alone"), "rank 1 of 2 has not reached 127.0.0.1:1 in 2 seconds"));
  const levin::StoreServer taken;
  CHECK(fits.start("taken", flags, {}, rank(0, std::to_string(taken.port()))).wait() == 2);
  INFO(fits.log("taken"));
  CHECK(contains(fits.log("taken"), "cannot serve the store that the ranks meet at on 127.0.0.1:"));
}

TEST_CASE("ranks with different configs are told the difference") {
  const RankedFits fits;
  const int64_t port = levin::StoreServer().port();
  const auto rank = [&](int number) {
    return std::vector<std::string>{"RANK=" + std::to_string(number),
                                    "WORLD_SIZE=2",
                                    "LOCAL_RANK=" + std::to_string(number),
                                    "LOCAL_WORLD_SIZE=2",
                                    "MASTER_ADDR=127.0.0.1",
                                    "MASTER_PORT=" + std::to_string(port)};
  };
  Spawned first(fits.command("other", {"--model.optimizer.lr", "0.05"}), fits.folder / "first.log", rank(0));
  Spawned second(fits.command("other", {"--model.optimizer.lr", "0.06"}), fits.folder / "second.log", rank(1));
  CHECK(second.wait() == 2);
  CHECK(first.wait() != 0);
  const std::string log = read_bytes(fits.folder / "second.log");
  INFO(log);
  CHECK(contains(log, "rank 1 was started with another config than rank 0: \"lr\": 0.06"));
}
