// If one rank does not do what the others do, the supervisor names it, ends the others and leaves no processes or files
// behind.
#include <levin/core/run/trainer_state.h>
#include <levin/core/system/signals.h>
#include <levin/trainer/launch/supervisor.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <random>

#include "tests/environment_number.h"
#include "tests/trainer/launch/ranks.h"

namespace fs = std::filesystem;

namespace {

/// Waits until the condition holds, or `most` is over.
void wait_until(const std::function<bool()>& condition, std::chrono::seconds most = std::chrono::seconds(120)) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!condition() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

/// Returns the processes of ranks with this text in their environment or command line, by rank.
std::map<int, pid_t> ranks_with(const std::string& text) {
  std::map<int, pid_t> ranks;
  for (const auto& process : fs::directory_iterator("/proc")) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    int rank = -1;
    bool is_ours = false;
    for (const char* file : {"environ", "cmdline"}) {
      std::ifstream in(process.path() / file, std::ios::binary);
      for (std::string word; std::getline(in, word, '\0');) {
        if (word.rfind("RANK=", 0) == 0) rank = std::stoi(word.substr(5));
        is_ours |= word == text;
      }
    }
    if (is_ours && rank >= 0) ranks[rank] = static_cast<pid_t>(std::stol(name));
  }
  return ranks;
}

/// Returns the ranks that a supervisor has started.
std::map<int, pid_t> ranks_of(pid_t supervisor) { return ranks_with("LEVIN_SUPERVISOR=" + std::to_string(supervisor)); }

/// A long fit of some ranks that has made some steps.
struct Ranks {
  explicit Ranks(const RankedFits::Flags& flags = {}, size_t count = 4) : process(start(flags, count)) {
    wait_until([&] { return fits.rows("run").size() >= 20; });
    INFO(fits.log("run"));
    REQUIRE(fits.rows("run").size() >= 20);
    ranks = ranks_of(process.id());
    REQUIRE(ranks.size() == count);
  }
  Spawned start(const RankedFits::Flags& flags, size_t count) const {
    return fits.start(
        "run", joined({"--devices", std::to_string(count), "--max-epochs", "2000", "--data.batch_size", "16"}, flags));
  }
  /// Waits for the end, and checks that no rank is left.
  int wait() {
    const int code = process.wait();
    CHECK(ranks_of(process.id()).empty());
    return code;
  }

  RankedFits fits;
  Spawned process;
  std::map<int, pid_t> ranks;
};

Spawned start_behaviour(const TemporaryFolder& folder, const std::string& name) {
  const char* const program = std::getenv("LEVIN_RANK_PROGRAM");
  REQUIRE(program != nullptr);
  return Spawned({"/bin/sh", "-c", "exec \"$0\" \"$@\" > '" + (folder / "out").string() + "'", program,
                  folder.path().string(), name},
                 folder / "log");
}

struct Behaviour {
  /// Runs behaviour `name` after a run of `before` has ended in the same folder.
  explicit Behaviour(const std::string& name, const std::string& before = "") {
    if (!before.empty()) run(before);
    out.clear();
    run(name);
  }
  void run(const std::string& name) {
    Spawned process = start_behaviour(folder, name);
    code = process.wait();
    log = read_bytes(folder / "log");
    out = read_bytes(folder / "out");
    for (const auto& file : fs::recursive_directory_iterator(folder.path()))
      if (file.path().filename() == "rank_1.log") out += read_bytes(file.path());
    CHECK(ranks_of(process.id()).empty());
  }
  TemporaryFolder folder;
  int code = -1;
  std::string log, out;
};

}  // namespace

TEST_CASE("a rank that is killed ends the run, and is named") {
  Ranks run;
  ::kill(run.ranks.at(2), SIGKILL);
  CHECK(run.wait() == 128 + SIGKILL);
  INFO(run.fits.log("run"));
  CHECK(contains(run.fits.log("run"), "levin: rank 2 ("));
  CHECK(contains(run.fits.log("run"), "was ended by SIGKILL"));
}

TEST_CASE("eight ranks end long before the deadline of their reductions when one of them dies") {
  Ranks run({"--timeout-seconds", "100000"}, 8);
  ::kill(run.ranks.at(5), SIGKILL);
  CHECK(run.wait() == 128 + SIGKILL);
  INFO(run.fits.log("run"));
  CHECK(contains(run.fits.log("run"), "levin: rank 5 ("));
}

TEST_CASE("a killed rank 0, which serves the store, ends the run, and is named") {
  Ranks run;
  ::kill(run.ranks.at(0), SIGKILL);
  CHECK(run.wait() == 128 + SIGKILL);
  INFO(run.fits.log("run"));
  CHECK(contains(run.fits.log("run"), "levin: rank 0 ("));
}

TEST_CASE("a rank that hangs is waited for during timeout_seconds, and is named") {
  Ranks run({"--timeout-seconds", "2"});
  ::kill(run.ranks.at(1), SIGSTOP);
  CHECK(run.wait() != 0);
  INFO(run.fits.log("run"));
  CHECK(contains(run.fits.log("run"), "levin: rank 1 ("));
  CHECK(contains(run.fits.log("run"),
                 "did not answer the other ranks any more, and was ended; its process was (stopped)"));
  // Each of the others names the collective that it waited for, the step, and the rank.
  CHECK(contains(run.fits.log("run"), "failed; rank 1 did not come: ended, or hanging"));
  CHECK(contains(run.fits.log("run"), " (in step "));
  CHECK(contains(read_bytes(run.fits.run("run") / "calls_of_rank_0.txt"), ": did not end"));
}

TEST_CASE("no rank outlives a supervisor that is killed") {
  Ranks run;
  ::kill(run.process.id(), SIGKILL);
  CHECK(run.process.wait() == -SIGKILL);
  wait_until([&] { return ranks_of(run.process.id()).empty(); }, std::chrono::seconds(10));
  CHECK(ranks_of(run.process.id()).empty());
}

TEST_CASE("SIGTERM to the supervisor saves once and ends all") {
  Ranks run;
  ::kill(run.process.id(), SIGTERM);
  CHECK(run.wait() == 128 + SIGTERM);
  INFO(run.fits.log("run"));
  CHECK(contains(run.fits.log("run"), "stopped by SIGTERM, saved"));
  CHECK_NOTHROW(levin::load_state(run.fits.run("run") / "checkpoints" / "last.ckpt"));
}

TEST_CASE("a rank that is stopped does not keep the others from ending after a signal") {
  for (const int number : {SIGTERM, SIGINT}) {
    Ranks run({"--timeout-seconds", "100000"});
    ::kill(run.ranks.at(1), SIGSTOP);
    ::kill(run.process.id(), number);
    CHECK(run.wait() == 128 + number);
    INFO(run.fits.log("run"));
    CHECK(contains(run.fits.log("run"),
                   levin::signal_name(number) + " is sent to the ranks; a second signal ends them at once\n"));
    CHECK(contains(run.fits.log("run"), "stopped by " + levin::signal_name(number) + ", saved"));
    CHECK_NOTHROW(levin::load_state(run.fits.run("run") / "checkpoints" / "last.ckpt"));
  }
}

TEST_CASE("ranks that ignore a signal are ended by the second") {
  for (const int number : {SIGTERM, SIGINT}) {
    const TemporaryFolder folder;
    Spawned process = start_behaviour(folder, "ignores");
    const auto said = [&](const char* text) { return contains(read_bytes(folder / "log"), text); };
    for (const char* rank : {"ignores_0", "ignores_1"}) wait_until([&] { return fs::exists(folder / rank); });
    ::kill(process.id(), number);
    wait_until([&] { return said("is sent to the ranks"); }, std::chrono::seconds(20));
    CHECK(said("is sent to the ranks; a second signal ends them at once"));
    CHECK(ranks_of(process.id()).size() == 2);
    ::kill(process.id(), number);
    CHECK(process.wait() == 128 + number);
    CHECK(said("again is sent to the ranks; those that are left in 2 s are killed"));
    CHECK(ranks_of(process.id()).empty());
  }
}

TEST_CASE("ranks that nohup started are not ended by SIGHUP") {
  const RankedFits fits;
  Spawned process = fits.start("run", {"--devices", "2", "--max-epochs", "60", "--data.batch_size", "16"}, {"nohup"});
  wait_until([&] { return fits.rows("run").size() >= 20; });
  ::kill(process.id(), SIGHUP);
  for (const auto& [rank, id] : ranks_of(process.id())) ::kill(id, SIGHUP);
  CHECK(process.wait() == 0);
  INFO(fits.log("run"));
  CHECK(fs::exists(fits.run("run") / "weights.pt"));
}

TEST_CASE("a signal inside of a validation ends it on all ranks, and the run resumes there") {
  const RankedFits fits("lenet");
  // Nearly all of the time goes into validations of 2,000 batches on each rank, though a file is written after each.
  const RankedFits::Flags flags = {"--devices",       "2",    "--max-steps",       "16", "--val-check-interval", "2",
                                   "--data.val_size", "4000", "--data.batch_size", "1"};
  const auto expected = fits.weights("unbroken", flags);
  // A signal may still come between two of them.
  bool was_inside = false;
  for (int attempt = 0; attempt < 5 && !was_inside; ++attempt) {
    const std::string name = "broken" + std::to_string(attempt);
    Spawned process = fits.start(name, flags);
    wait_until([&] { return fits.rows(name).size() >= 4; });
    // Rows come between validations: each attempt waits longer.
    std::this_thread::sleep_for(std::chrono::milliseconds(50 * (attempt + 1)));
    ::kill(process.id(), SIGTERM);
    CHECK(process.wait() == 128 + SIGTERM);
    INFO(fits.log(name));
    const fs::path saved = fits.run(name) / "checkpoints" / "on_signal.ckpt";
    REQUIRE(fs::exists(saved));
    const levin::State counters = levin::load_state(saved).at("levin").at("trainer");
    was_inside = counters.at("batch_phase").to_int() == static_cast<int64_t>(levin::BatchPhase::Validating) &&
                 counters.at("evaluation_batch").to_int() > 0;
    const auto weights = fits.weights(name, joined(flags, {"--ckpt-path", "last"}));
    CHECK(difference(weights, expected) == 0);
    CHECK(difference(fits.rows(name), fits.rows("unbroken")) == 0);
  }
  CHECK(was_inside);
}

TEST_CASE("SIGTERM to all processes of a job, which the supervisor hands on as well, saves once and ends all") {
  Ranks run;
  ::kill(run.process.id(), SIGSTOP);
  // The ranks get their signals before the supervisor forwards its own.
  for (const auto& [rank, id] : run.ranks) ::kill(id, SIGTERM);
  ::kill(run.process.id(), SIGTERM);
  ::kill(run.process.id(), SIGCONT);
  CHECK(run.wait() == 128 + SIGTERM);
  INFO(run.fits.log("run"));
  CHECK(contains(run.fits.log("run"), "stopped by SIGTERM, saved"));
  CHECK_NOTHROW(levin::load_state(run.fits.run("run") / "checkpoints" / "last.ckpt"));
}

TEST_CASE("SIGTERM to one rank alone ends all of them together") {
  Ranks run;
  ::kill(run.ranks.at(3), SIGTERM);
  CHECK(run.wait() == 128 + SIGTERM);
  INFO(run.fits.log("run"));
  CHECK_NOTHROW(levin::load_state(run.fits.run("run") / "checkpoints" / "last.ckpt"));
}

// LEVIN_RANK_KILLS sets the number of kills (scripts/soak has the long form), LEVIN_KILL_SEED their seed.
TEST_CASE("ranks that are killed at random moments start again beside another run, and end as the unbroken one") {
  const RankedFits::Flags flags = {"--devices", "2", "--data.batch_size", "32", "--max-epochs", "300"};
  const RankedFits fits;
  const auto expected = fits.weights("unbroken", flags);
  // Each root already holds another run, which has ended and must not change.
  fits.weights("other", {"--devices", "2", "--model.optimizer.lr", "0.3"});
  const std::string config_of_other = read_bytes(fits.run("other") / "config.json");
  const std::string weights_of_other = read_bytes(fits.run("other") / "weights.pt");
  const RankedFits::Flags restarting = joined(flags, {"--max-restarts", "100"});
  const int64_t kills = number_from_environment("LEVIN_RANK_KILLS", 3);
  std::mt19937_64 random(static_cast<uint64_t>(number_from_environment("LEVIN_KILL_SEED", 1)));
  int64_t killed = 0;
  for (int64_t number = 0; killed < kills; ++number) {
    const std::string name = "broken" + std::to_string(number);
    fs::copy(fits.folder / "other", fits.folder / name, fs::copy_options::recursive);
    Spawned process = fits.start(name, restarting);
    for (int here = 0; here < 3 && killed < kills; ++here) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300 + random() % 1000));
      const std::map<int, pid_t> ranks = ranks_of(process.id());
      if (ranks.size() < 2) continue;
      killed += ::kill(ranks.at(static_cast<int>(random() % 2)), SIGKILL) == 0;
    }
    const int code = process.wait();
    INFO(fits.log(name));
    REQUIRE(code == 0);
    CHECK(ranks_of(process.id()).empty());
    // If a rank dies before the first checkpoint, the run starts again in a new folder.
    int version = 1;
    while (!fs::exists(fits.run(name, version) / "weights.pt") && version < 100) ++version;
    CHECK(read_bytes(fits.run(name, version) / "weights.pt") == read_bytes(fits.run("unbroken") / "weights.pt"));
    CHECK(read_bytes(fits.run(name) / "config.json") == config_of_other);
    CHECK(read_bytes(fits.run(name) / "weights.pt") == weights_of_other);
  }
  std::cout << "killed " << killed << " ranks" << std::endl;
  CHECK(killed == kills);
}

TEST_CASE("ranks that torchrun starts again resume from the newest checkpoint") {
  const RankedFits::Flags launcher = torchrun({"--max-restarts", "1", "--monitor-interval", "0.1"});
  if (launcher.empty()) return;
  const RankedFits fits;
  const RankedFits::Flags flags = {"--data.batch_size", "32", "--max-epochs", "300"};
  fits.weights("unbroken", joined(flags, {"--devices", "2"}));
  Spawned process = fits.start("broken", flags, launcher);
  const fs::path checkpoint = fits.run("broken") / "checkpoints" / "last.ckpt";
  wait_until([&] { return fs::exists(checkpoint); });
  const std::map<int, pid_t> ranks = ranks_with((fits.folder / "broken").string());
  REQUIRE(ranks.size() == 2);
  REQUIRE(::kill(ranks.at(1), SIGKILL) == 0);
  CHECK(process.wait() == 0);
  INFO(fits.log("broken"));
  CHECK(contains(fits.log("broken"), ", resumes after "));
  CHECK(read_bytes(fits.run("broken") / "weights.pt") == read_bytes(fits.run("unbroken") / "weights.pt"));
}

TEST_CASE("ranks of a user's program train, and validate each sample once") {
  const Behaviour plain("plain");
  INFO(plain.log << plain.out);
  CHECK(plain.code == 0);
  CHECK(contains(plain.out, "rank 0: completed  after 10 steps"));
  CHECK(contains(plain.out, "rank 1: completed  after 10 steps"));
  // Each of the 17 samples of two epochs once.
  CHECK(contains(plain.out, "saw 18 for validation"));
  CHECK(contains(plain.out, "saw 16 for validation"));
}

TEST_CASE(
    "a rank that dies in forward, backward, a collective, a validation or a checkpoint's writing is started again") {
  const Behaviour plain("plain");
  const auto end = [](const Behaviour& run) {
    const size_t found = run.out.find("ends at ");
    return found == std::string::npos ? "not at all" : run.out.substr(found, run.out.find('\n', found) - found);
  };
  for (const auto& [name, rank] : {std::pair("dies_in_forward", 1),
                                   {"dies_in_backward", 1},
                                   {"dies_in_collective", 1},
                                   {"dies_in_validation", 1},
                                   {"dies_in_checkpoint", 0}}) {
    const Behaviour run(name);
    INFO(name << "\n" << run.log << run.out);
    CHECK(run.code == 0);
    CHECK(contains(run.log, "levin: rank " + std::to_string(rank) + " ("));
    CHECK(contains(run.log, "was ended by SIGKILL"));
    CHECK(contains(run.log, "started again from their newest checkpoint (restart 1 of 1)"));
    CHECK(contains(run.log, "resumes after 5 steps and 1 epoch"));
    CHECK(end(run) == end(plain));
    for (const auto& file : fs::recursive_directory_iterator(run.folder.path()))
      if (file.path().extension() == ".ckpt") CHECK_NOTHROW(levin::load_state(file.path()));
  }
}

TEST_CASE(
    "ranks that fail before their first checkpoint start from the beginning, despite an older run that has ended") {
  const Behaviour plain("plain"), run("dies_before_saving", "plain");
  INFO(run.log << run.out);
  CHECK(run.code == 0);
  CHECK(contains(run.log, "has saved no checkpoint yet: the run starts from the beginning"));
  CHECK(contains(run.out, "rank 0: completed  after 10 steps"));
  const auto weights = [](const Behaviour& of, const char* version) {
    return read_bytes(of.folder / "levin_logs" / version / "weights.pt");
  };
  CHECK(weights(run, "version_2") == weights(plain, "version_0"));
  // The killed ranks have left version_1.
  CHECK_FALSE(fs::exists(run.folder / "levin_logs" / "version_1" / "weights.pt"));
  CHECK(fs::exists(run.folder / "levin_logs" / "version_0" / "summary.json"));
}

TEST_CASE("logs of ranks follow no link that somebody has planted") {
  const TemporaryFolder folder;
  write_bytes(folder / "victim", "precious");
  fs::create_symlink(folder / "victim", folder / "rank_1.log");
  const std::vector<std::string> command = {"/bin/true"};
  const std::string text = error_text<levin::UsageError>(
      [&] { levin::supervise({.ranks = 2, .log_folder = folder.path(), .commands = {command, command}}); });
  CHECK(contains(text, "rank_1.log: cannot be written"));
  CHECK(read_bytes(folder / "victim") == "precious");
}

TEST_CASE("ranks of a run without files write to a temporary folder of an unknown name, which is removed") {
  const RankedFits fits;
  const fs::path temporary = fits.folder / "tmp";
  fs::create_directories(temporary);
  Spawned process =
      fits.start("run", {"--devices", "2", "--fast-dev-run", "true"}, {}, {"TMPDIR=" + temporary.string()});
  bool predictable = false;
  size_t seen = 0;
  wait_until([&] { return ::kill(process.id(), 0) != 0 || ranks_of(process.id()).size() == 2; });
  for (const auto& entry : fs::directory_iterator(temporary)) {
    const std::string name = entry.path().filename();
    predictable |= contains(name, std::to_string(process.id()));
    seen += name.rfind("levin_ranks_", 0) == 0;
  }
  CHECK_FALSE(predictable);
  CHECK(seen == 1);
  CHECK(process.wait() == 0);
  CHECK(fs::is_empty(temporary));
  CHECK_FALSE(fs::exists(fits.folder / "run"));
}

TEST_CASE("ranks of a run without files leave none if they fail") {
  const RankedFits fits;
  const fs::path temporary = fits.folder / "tmp";
  fs::create_directories(temporary);
  const RankedFits::Flags refused = {
      "--devices", "2", "--strategy", "zero1", "--fast-dev-run", "true", "--model.optimizer.class", "LAMB"};
  CHECK(fits.start("run", refused, {}, {"TMPDIR=" + temporary.string()}).wait() == 2);
  INFO(fits.log("run"));
  CHECK(contains(fits.log("run"), "does not step each element by itself"));
  CHECK(fs::is_empty(temporary));
}

TEST_CASE("a rank that throws is shown with its error") {
  const Behaviour run("throws");
  INFO(run.log);
  CHECK(run.code == 5);
  CHECK(contains(run.log, "levin: rank 1 ("));
  CHECK(contains(run.log, "failed with exit code 5"));
  CHECK(contains(run.log, "its error: the second rank has had enough"));
  CHECK(contains(run.log, "[rank 1] error: the second rank has had enough"));
}

TEST_CASE("collectives in the hooks of a rank that throws are refused") {
  const Behaviour run("throws_with_hooks");
  INFO(run.log << run.out);
  CHECK(run.code == 5);
  CHECK(contains(run.log, "its error: the second rank has had enough"));
  CHECK(contains(run.out, "rank_loss is known: 1"));
  CHECK(contains(run.out, "barrier: not while an exception is on its way"));
  CHECK(contains(run.out, "no checkpoint is saved after the exception"));
  CHECK_FALSE(contains(run.out, "threw as well"));
}

TEST_CASE("the stack of a rank that hangs in its own code is shown") {
  const Behaviour run("hangs");
  INFO(run.log);
  CHECK(run.code != 0);
  CHECK(contains(run.log, "levin: rank 1 ("));
  CHECK(contains(run.log, "did not answer the other ranks any more"));
  CHECK(contains(run.log, "[rank 1] levin: this process was asked where it is:"));
  CHECK(contains(run.log, "levin::DdpStrategy::run_step("));
}

TEST_CASE("a rank that leaves early is named") {
  const Behaviour run("leaves");
  INFO(run.log);
  CHECK(run.code != 0);
  CHECK(contains(run.log, "levin: rank 1 ("));
  CHECK(contains(run.log, "has ended before the others, with exit code 0"));
}

TEST_CASE("a step that returns nothing on one rank does not block the others") {
  const Behaviour run("returns_nothing");
  INFO(run.log << run.out);
  CHECK(run.code == 0);
  CHECK(contains(run.out, "rank 1: completed  after 10 steps"));
}

TEST_CASE("ranks that log different names continue, with a warning") {
  const Behaviour run("logs_another");
  INFO(run.log << run.out);
  CHECK(run.code == 0);
  CHECK(contains(run.log, "log('only_here'): 1 of 2 ranks have logged it"));
}

TEST_CASE("a stop that one rank asks for stops all in the same step") {
  const Behaviour run("stops");
  INFO(run.log << run.out);
  CHECK(run.code == 0);
  const size_t first = run.out.find("rank 0: stopped"), second = run.out.find("rank 1: stopped");
  REQUIRE((first != std::string::npos && second != std::string::npos));
  const auto steps = [&](size_t from) { return run.out.substr(run.out.find("after", from), 14); };
  CHECK(steps(first) == steps(second));
}

TEST_CASE("parameters without a gradient, and parameters of other shapes, are named") {
  const Behaviour unused("unused");
  INFO(unused.log);
  CHECK(unused.code == 5);
  CHECK(contains(unused.log, "these parameters got no gradient: spare.weight, spare.bias"));
  const Behaviour shapes("other_shapes");
  INFO(shapes.log);
  CHECK(shapes.code == 5);
  CHECK(contains(shapes.log,
                 "head.weight has the shape [1, 4] in Float on rank 0 and the shape [2, 4] in Float on rank 1"));
}
