// Jobs that are queued again, and several runs in one root: each resumes from its own checkpoints.
#include <levin/core/state/state_file.h>
#include <signal.h>

#include <utility>

#include "tests/error_text.h"
#include "tests/trainer/checkpoint/program_fit.h"

namespace fs = std::filesystem;

namespace {

using Flags = std::vector<std::string>;

Flags job(const std::string& number, int restarts = 0) {
  Flags variables = {"SLURM_JOB_ID=" + number};
  if (restarts > 0) variables.push_back("SLURM_RESTART_COUNT=" + std::to_string(restarts));
  return variables;
}

Flags task(const std::string& number, int restarts = 0) {
  Flags variables = job("10" + number, restarts);
  variables.push_back("SLURM_ARRAY_JOB_ID=100");
  variables.push_back("SLURM_ARRAY_TASK_ID=" + number);
  return variables;
}

std::string weights(const ProgramFit& fit, int version) { return read_bytes(fit.run(version) / "weights.pt"); }

void terminate(Spawned& process) {
  ::kill(process.id(), SIGTERM);
  CHECK(process.wait() == 128 + SIGTERM);
}

}  // namespace

TEST_CASE(
    "a job that is queued again before it has saved starts from the beginning, despite another run's newer "
    "checkpoint") {
  ProgramFit fits(2);
  REQUIRE(fits.start({"--seed", "1"}).wait() == 0);
  const std::string config = read_bytes(fits.run(0) / "config.json");
  REQUIRE(fits.start({}, job("7", 1)).wait() == 0);
  INFO(fits.log());
  CHECK(contains(fits.log(), "has saved no checkpoint yet: the run starts from the beginning"));
  CHECK(read_bytes(fits.run(0) / "config.json") == config);
  ProgramFit unbroken(2);
  REQUIRE(unbroken.start({}).wait() == 0);
  CHECK(weights(fits, 1) == weights(unbroken, 0));
}

TEST_CASE("each task of an array resumes its own run, though all share one root") {
  ProgramFit fits;
  const Flags seeds = {"11", "12"};
  for (size_t i = 0; i < seeds.size(); ++i) {
    Spawned process = fits.start({"--seed", seeds[i]}, task(seeds[i]));
    fits.wait_for_rows(20, static_cast<int>(i));
    terminate(process);
  }
  for (size_t i = 0; i < seeds.size(); ++i) {
    REQUIRE(fits.start({"--seed", seeds[i]}, task(seeds[i], 1)).wait() == 0);
    INFO(fits.log());
    CHECK(contains(fits.log(), ", resumes after "));
    ProgramFit unbroken;
    REQUIRE(unbroken.start({"--seed", seeds[i]}).wait() == 0);
    CHECK(weights(fits, static_cast<int>(i)) == weights(unbroken, 0));
    CHECK(rows_in(fits.run(static_cast<int>(i))) == rows_in(unbroken.run()));
  }
  CHECK_FALSE(fs::exists(fits.run(2)));
}

TEST_CASE("a job that is queued again leaves the folder of a live run alone, and that run continues") {
  ProgramFit fits(2);
  Spawned live = fits.start({"--max-epochs", "1000"}, job("5"), "live.log");
  fits.wait_for_rows(120);  // the run has a checkpoint
  REQUIRE(fits.start({}, job("7", 1)).wait() == 0);
  const size_t rows = fits.rows(0);
  fits.wait_for_rows(rows + 5);
  INFO(fits.log("live.log"));
  terminate(live);
  CHECK(fs::exists(fits.run(1) / "weights.pt"));
}

TEST_CASE("a queued job prefers its own checkpoint to the file that its command names") {
  ProgramFit fits(1);
  REQUIRE(fits.start({}).wait() == 0);
  const std::string file = (fits.run(0) / "checkpoints" / "last.ckpt").string();
  const Flags command = {"--ckpt-path", file, "--max-epochs", "6"};
  {
    Spawned process = fits.start(command, job("7"));
    fits.wait_for_rows(20, 1);
    terminate(process);
  }
  REQUIRE(fits.start(command, job("7", 1)).wait() == 0);
  INFO(fits.log());
  CHECK(contains(fits.log(), fits.run(1).string() + ", resumes after "));
  CHECK(contains(fits.log(), " of " + (fits.run(1) / "checkpoints").string()));
  CHECK_FALSE(fs::exists(fits.run(2)));
  REQUIRE(fits.start(command).wait() == 0);
  CHECK(weights(fits, 1) == weights(fits, 2));
  CHECK(rows_in(fits.run(1)) == rows_in(fits.run(2)));
}

TEST_CASE("two processes never write to one run, and the second names the first") {
  ProgramFit fits(1000);
  Spawned first = fits.start({}, {}, "first.log");
  fits.wait_for_rows(120);
  CHECK(fits.start({"--ckpt-path", "last"}).wait() == 2);
  INFO(fits.log());
  CHECK(contains(fits.log(), "the run in " + fits.run().string() + " is being written by process " +
                                 std::to_string(first.id()) + " on "));
  // A killed process holds no lock.
  ::kill(first.id(), SIGKILL);
  CHECK(first.wait() == -SIGKILL);
  Spawned second = fits.start({"--ckpt-path", "last"});
  const size_t rows = fits.rows();
  fits.wait_for_rows(rows + 20);
  terminate(second);
}

TEST_CASE("a folder as ckpt_path stands for that run's newest checkpoint in every command") {
  ProgramFit fits(1);
  REQUIRE(fits.start({}).wait() == 0);
  REQUIRE(fits.start({"--seed", "9"}).wait() == 0);
  const std::string folder = fits.run(0).string();
  for (const std::string command : {"validate", "test", "predict"}) {
    REQUIRE(fits.start({"--ckpt-path", folder}, {}, "log", command).wait() == 0);
    INFO(fits.log());
    CHECK(contains(fits.log(), command + ": weights of " + folder + "/checkpoints/"));
    REQUIRE(fits.start({"--ckpt-path", "last"}, {}, "log", command).wait() == 0);
    CHECK(contains(fits.log(), command + ": weights of " + fits.run(1).string() + "/checkpoints/"));
  }
  REQUIRE(fits.start({"--ckpt-path", folder, "--max-epochs", "2"}).wait() == 0);
  INFO(fits.log());
  CHECK(contains(fits.log(), "the config differs from the checkpoint's: trainer.max_epochs: 2 (it was 1)"));
  CHECK(contains(fits.log(), "run folder " + folder + ", resumes after 100 steps and 1 epoch of " + folder));
  CHECK_FALSE(fs::exists(fits.run(2)));
  CHECK(fits.start({"--ckpt-path", (fits.folder / "empty").string()}).wait() == 2);
}

TEST_CASE("a value of the environment stays a reference in config.json and checkpoints") {
  ProgramFit fits(1);
  const std::string secret = "0.0123456789";
  REQUIRE(fits.start({"--model.optimizer.lr", "${env:LEVIN_TEST_SECRET}", "--trainer.gradient_clip_val",
                      "${model.optimizer.lr}"},
                     {"LEVIN_TEST_SECRET=" + secret})
              .wait() == 0);
  INFO(fits.log());
  const std::string config = read_bytes(fits.run() / "config.json");
  CHECK(contains(config, "\"lr\": \"${env:LEVIN_TEST_SECRET}\""));
  CHECK(contains(config, "\"gradient_clip_val\": \"${model.optimizer.lr}\""));
  CHECK_FALSE(contains(config, secret));
  const levin::State checkpoint = levin::load_state(fits.run() / "checkpoints" / "last.ckpt");
  CHECK(checkpoint.at("levin").at("config").to_string() == config);
  CHECK(checkpoint.at("hyper_parameters").at("optimizer").at("lr").to_string() == "${env:LEVIN_TEST_SECRET}");
  CHECK_FALSE(contains(read_bytes(fits.run() / "checkpoints" / "last.ckpt"), secret));
  // The run resumes, and starts again from its config.json, if the variable is set.
  const Flags secrets = {"LEVIN_TEST_SECRET=" + secret};
  CHECK(fits.start({"--config", (fits.run() / "config.json").string(), "--max-epochs", "2", "--ckpt-path", "last"},
                   secrets)
            .wait() == 0);
  CHECK(fits.start({"--config", (fits.run() / "config.json").string()}).wait() == 2);
}
