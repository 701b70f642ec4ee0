// Sharded checkpoints in real processes: resumed by other ranks and strategies, damaged, converted, and
// written by ranks that are killed.
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/sharded_file.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "tests/environment_number.h"
#include "tests/trainer/checkpoint/learner.h"
#include "tests/trainer/launch/ranks.h"

namespace fs = std::filesystem;

namespace {

using Flags = RankedFits::Flags;

const Flags kSharded = {"--strategy", "fsdp", "--strategy.state_dict_type", "sharded"};

/// Returns flags for a number of ranks, whose batches add up to 64 samples or nearly so.
Flags ranks(int64_t count) {
  return {"--devices", std::to_string(count), "--data.batch_size", std::to_string(64 / count)};
}

/// Returns the checkpoints of a run, by name.
std::vector<fs::path> checkpoints_of(const fs::path& run) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints"))
    if (entry.path().extension() == ".ckpt") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Checks that every checkpoint below `root` is whole, and returns the parts that belong to none.
std::vector<fs::path> parts_of_none(const fs::path& root) {
  std::vector<fs::path> left;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".part") left.push_back(entry.path());
    if (entry.path().extension() != ".ckpt") continue;
    INFO(entry.path());
    CHECK_NOTHROW(levin::load_state(entry.path()));
  }
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".ckpt") continue;
    const auto index = levin::read_sharded_index(entry.path());
    for (const levin::CheckpointPart& part : levin::parts_beside(entry.path()))
      if (index && part.save == index->save) std::erase(left, part.file);
  }
  return left;
}

/// Runs the program with these arguments; returns its exit code, and adds its output to `log`.
int run_program(const RankedFits& fits, const Flags& arguments, std::string& log) {
  const char* const program = std::getenv("LEVIN_PROGRAM");
  REQUIRE(program != nullptr);
  const int code = Spawned(joined({program}, arguments), fits.folder / "program.log").wait();
  log = read_bytes(fits.folder / "program.log");
  return code;
}

}  // namespace

TEST_CASE("a sharded checkpoint is an index and a part of each rank, and none is left of those that were replaced") {
  const RankedFits fits;
  const auto whole = fits.weights("full", joined(joined(kAdam, ranks(2)), {"--strategy", "fsdp"}));
  CHECK(difference(fits.weights("sharded", joined(joined(kAdam, ranks(2)), kSharded)), whole) == 0);
  const std::vector<fs::path> files = checkpoints_of(fits.run("sharded"));
  REQUIRE(files.size() == 2);  // the newest epoch and last.ckpt
  for (const fs::path& file : files) {
    INFO(file);
    const std::vector<levin::CheckpointPart> parts = levin::parts_beside(file);
    CHECK(parts.size() == 2);
    const levin::State saved = levin::load_state(file);
    const levin::State expected = levin::load_state(fits.run("full") / "checkpoints" / file.filename());
    for (const auto& [name, value] : expected.at("state_dict").to_dict())
      CHECK(torch::equal(saved.at("state_dict").at(name).to_tensor(), value.to_tensor()));
    const levin::State& moments = expected.at("optimizer_states").items()[0].at("state");
    for (const auto& [number, of_parameter] : moments.to_dict())
      for (const auto& [name, value] : of_parameter.to_dict())
        CHECK(torch::equal(saved.at("optimizer_states").items()[0].at("state").at(number).at(name).to_tensor(),
                           value.to_tensor()));
    CHECK(saved.at("levin").at("ranks").size() == 2);
    // Neither part has the whole of any tensor with more than a few elements.
    for (const levin::CheckpointPart& part : parts)
      CHECK(fs::file_size(part.file) <
            0.6 * static_cast<double>(fs::file_size(fits.run("full") / "checkpoints" / file.filename())));
  }
  CHECK(parts_of_none(fits.run("sharded")).empty());
}

TEST_CASE("a run resumes from a sharded checkpoint with any number of ranks, under any strategy") {
  const RankedFits fits;
  const Flags two = joined(kSharded, ranks(2)), ddp = joined(ranks(2), {"--strategy", "ddp"});
  const auto unbroken = fits.weights("unbroken", joined(two, kAdam));
  const auto saves = [&](const std::string& name, const Flags& flags, const Flags& until) {
    fits.weights(name, joined(joined(flags, kAdam), until));
    return (fits.run(name) / "checkpoints" / "last.ckpt").string();
  };
  const Flags until_epoch = {"--max-epochs", "1"}, until_middle = {"--max-steps", "6"};
  const std::string epoch = saves("epoch", two, until_epoch), middle = saves("middle", two, until_middle);
  const auto goes_on = [&](const std::string& name, const std::string& from, const Flags& flags) {
    return difference(fits.weights(name, joined(joined(flags, kAdam), {"--ckpt-path", from})), unbroken);
  };
  CHECK(goes_on("same", middle, two) == 0);
  CHECK(goes_on("one", epoch, {"--data.batch_size", "64"}) < 1e-12);
  CHECK(goes_on("four", middle, joined(kSharded, ranks(4))) < 1e-12);
  CHECK(goes_on("to_ddp", middle, ddp) == 0);
  CHECK(goes_on("from_ddp", saves("ddp", ddp, until_middle), two) == 0);
  const Flags hybrid = joined(joined(kSharded, ranks(4)), {"--mesh.shard", "2"});
  CHECK(goes_on("from_hybrid", saves("hybrid", hybrid, until_epoch), two) < 1e-12);
}

TEST_CASE("three ranks resume from the parts of two as from one file") {
  const RankedFits fits("mlp", "64-true", 192);
  const Flags three = {"--devices", "3", "--data.batch_size", "16"};
  const auto goes_on = [&](const std::string& name, const Flags& type) {
    fits.weights(name, joined(joined(joined(kAdam, ranks(2)), type), {"--max-epochs", "1"}));
    return fits.weights(name, joined(joined(joined(kAdam, three), type), {"--ckpt-path", "last"}));
  };
  CHECK(difference(goes_on("sharded", kSharded), goes_on("full", {"--strategy", "fsdp"})) == 0);
}

TEST_CASE("other commands read, name what is wrong with, and convert sharded checkpoints") {
  const RankedFits fits;
  fits.weights("run", joined(joined(joined(kSharded, ranks(2)), kAdam), {"--max-epochs", "1"}));
  const fs::path file = fits.run("run") / "checkpoints" / "last.ckpt", whole = fits.folder / "whole.ckpt",
                 again = fits.folder / "again.ckpt";
  std::string log;
  CHECK(run_program(fits,
                    {"test", "--config", (fits.folder / "config.json").string(), "--ckpt-path", file.string(),
                     "--default-root-dir", (fits.folder / "test").string()},
                    log) == 0);
  CHECK(run_program(fits, {"ckpt", "verify", file.string()}, log) == 0);
  CHECK(run_program(fits, {"ckpt", "convert", file.string(), whole.string()}, log) == 0);
  CHECK(levin::parts_beside(whole).empty());
  CHECK(run_program(fits, {"ckpt", "convert", whole.string(), again.string(), "--shards", "3"}, log) == 0);
  CHECK(levin::parts_beside(again).size() == 3);
  for (const fs::path& other : {whole, again})
    CHECK(run_program(fits, {"ckpt", "diff", file.string(), other.string()}, log) == 0);
  const Flags flags = joined(joined(kSharded, ranks(2)), kAdam);
  CHECK(difference(fits.weights("from_whole", joined(flags, {"--ckpt-path", whole.string()})),
                   fits.weights("from_parts", joined(flags, {"--ckpt-path", again.string()}))) == 0);

  // A part that is missing, cut off, or of another checkpoint.
  const fs::path part = levin::parts_beside(file)[0].file, other = levin::parts_beside(again)[0].file;
  const std::string bytes = read_bytes(part);
  const auto refused = [&] {
    CHECK(fits.start("refused", joined(flags, {"--ckpt-path", file.string()})).wait() == 2);
    CHECK(contains(fits.log("refused"), file.string() + ": its part of rank"));
    CHECK(run_program(fits, {"ckpt", "verify", file.string()}, log) == 1);
    return fits.log("refused");
  };
  fs::remove(part);
  CHECK(contains(refused(), "is missing, " + part.filename().string()));
  write_bytes(part, bytes.substr(0, bytes.size() / 2));
  CHECK(contains(refused(), "copy that part again, or use another checkpoint"));
  write_bytes(part, read_bytes(other));
  CHECK(contains(refused(), "of another checkpoint"));
  // The folder's newest that is whole is taken.
  std::string older = fits.output("older", joined(flags, {"--ckpt-path", fits.run("run").string()}));
  CHECK(contains(older, "an older checkpoint is looked for"));
}

TEST_CASE("what sharded checkpoints need is said") {
  const RankedFits fits;
  CHECK(fits.start("ddp", joined(ranks(2), {"--strategy", "ddp", "--strategy.state_dict_type", "sharded"})).wait() ==
        2);
  CHECK(contains(fits.log("ddp"), "--strategy.state_dict_type: no such flag"));
}

// LEVIN_SHARDED_KILLS sets the number of kills (scripts/soak has the long form), LEVIN_KILL_SEED their seed.
TEST_CASE(
    "a rank that is killed while a sharded checkpoint is written leaves the last whole one, and the run ends as "
    "the unbroken one") {
  const char* const runner = std::getenv("LEVIN_SHARDED_RUNNER");
  REQUIRE(runner != nullptr);
  const TemporaryFolder folder;
  const fs::path log = folder / "log", unbroken = folder / "unbroken" / "run" / "version_0";
  REQUIRE(Spawned({runner, (folder / "unbroken").string()}, log).wait() == 0);
  const std::string said = read_bytes(log), count = "stages of rank 0: ";
  INFO(said);
  REQUIRE(contains(said, count));
  const int64_t stages = std::stoll(said.substr(said.find(count) + count.size()));
  REQUIRE(stages > 100);

  const int64_t kills = number_from_environment("LEVIN_SHARDED_KILLS", 3);
  std::mt19937_64 random(static_cast<uint64_t>(number_from_environment("LEVIN_KILL_SEED", 1)));
  int64_t killed = 0, runs = 0;
  for (; killed < kills; ++runs) {
    const fs::path root = folder / ("killed" + std::to_string(runs));
    fs::create_directories(root);
    for (int code = -1; code != 0;) {
      // Rank 1 writes its part alone, in fewer stages; the run ends if it has none so late.
      const int64_t rank = static_cast<int64_t>(random() % 2);
      const int64_t moment =
          1 + static_cast<int64_t>(random() % static_cast<uint64_t>(rank == 0 ? stages : stages / 3));
      const Flags kill = killed < kills ? Flags{std::to_string(rank), std::to_string(moment)} : Flags{};
      code = Spawned(joined({runner, root.string()}, kill), log).wait();
      INFO("run " << runs << ", kill " << killed << " of rank " << rank << " at stage " << moment << ": "
                  << read_bytes(log));
      REQUIRE((code == 0 || code == 128 + SIGKILL));
      killed += code != 0;
      parts_of_none(root);
    }
    fs::path ended;
    for (const auto& entry : fs::directory_iterator(root / "run"))
      if (fs::exists(entry.path() / "weights.pt")) ended = entry.path();
    REQUIRE(!ended.empty());
    CHECK(read_bytes(ended / "weights.pt") == read_bytes(unbroken / "weights.pt"));
    CHECK(rows_in(ended) == rows_in(unbroken));
    // A kill in the last save may leave links to parts that another name has.
    for (const fs::path& left : parts_of_none(ended)) CHECK(fs::hard_link_count(left) > 1);
    fs::remove_all(root);
  }
  std::cout << killed << " kills while sharded checkpoints were written, " << runs << " runs ended as the unbroken one"
            << std::endl;
}
