// levin::launch in a program of a user's own: the starting process leaves main in the ordinary way.
#include "tests/trainer/launch/ranks.h"

namespace {

struct Launched {
  explicit Launched(const std::string& behaviour, const std::vector<std::string>& launcher = {}) {
    std::vector<std::string> words = launcher;
    words.insert(words.end(), {std::getenv("LEVIN_LAUNCH_PROGRAM"), folder.path().string(), behaviour});
    code = Spawned(words, folder / "log").wait();
  }
  std::string notes(const std::string& process) const {
    return std::filesystem::exists(folder / process) ? read_bytes(folder / process) : "";
  }
  std::string log() const { return read_bytes(folder / "log"); }

  TemporaryFolder folder;
  int code = -1;
};

}  // namespace

TEST_CASE("levin::launch returns the exit code in the process that started the ranks, and nothing in the ranks") {
  const Launched run("trains");
  INFO(run.log());
  CHECK(run.code == 0);
  CHECK(run.notes("parent") == "launched: 0\nleaves main\n");
  for (const char* rank : {"0", "1"}) CHECK(run.notes(rank) == "trains\nfitted with 2 ranks\nleaves main\n");
}

TEST_CASE("levin::launch returns the exit code of a rank that failed") {
  const Launched run("fails");
  INFO(run.log());
  CHECK(run.code == 7);
  CHECK(run.notes("parent") == "launched: 7\nleaves main\n");
  CHECK(run.notes("1") == "trains\nleaves main\n");
}

TEST_CASE("levin::launch returns nothing where one process is enough, and refuses what Trainer refuses") {
  const Launched alone("alone");
  INFO(alone.log());
  CHECK(alone.code == 0);
  CHECK(alone.notes("parent") == "trains\nfitted with 1 ranks\nleaves main\n");
  const Launched wrong("wrong");
  INFO(wrong.log());
  CHECK(wrong.code == 2);
  CHECK(wrong.notes("parent") == "leaves main\n");
  CHECK(contains(wrong.log(), "error: trainer.max_restarts"));
}

TEST_CASE("levin::launch leaves ranks alone that torchrun has started") {
  const RankedFits::Flags launcher = torchrun();
  if (launcher.empty()) return;
  const Launched run("trains", launcher);
  INFO(run.log());
  CHECK(run.code == 0);
  CHECK(run.notes("parent").empty());
  for (const char* rank : {"0", "1"}) CHECK(run.notes(rank) == "trains\nfitted with 2 ranks\nleaves main\n");
}
