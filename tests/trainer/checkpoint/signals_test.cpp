// The program after a signal: it finishes its step, saves, prints how to continue, and resumes to the bit.
#include <levin/core/state/state_file.h>
#include <levin/levin.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/trainer/checkpoint/program_fit.h"

namespace fs = std::filesystem;

TEST_CASE("after SIGTERM or SIGINT the fit saves, exits 143 or 130, and resumes as if nothing had happened") {
  ProgramFit unbroken, broken;
  REQUIRE(unbroken.start({}).wait() == 0);
  size_t rows = 20;
  for (const int number : {SIGTERM, SIGINT}) {
    Spawned process = broken.start({"--ckpt-path", "last"});
    broken.wait_for_rows(rows);
    ::kill(process.id(), number);
    CHECK(process.wait() == 128 + number);
    INFO(broken.log());
    CHECK(contains(broken.log(), std::string("stopped by ") + (number == SIGTERM ? "SIGTERM" : "SIGINT")));
    CHECK(contains(broken.log(), "on_signal.ckpt; continue with: levin fit --config "));
    CHECK(contains(broken.log(), " --ckpt-path " + broken.run().string() + "\n"));
    CHECK_NOTHROW(levin::load_state(broken.run() / "checkpoints" / "last.ckpt"));
    rows = broken.rows() + 20;
  }
  REQUIRE(broken.start({"--ckpt-path", "last"}).wait() == 0);
  CHECK(read_bytes(broken.run() / "weights.pt") == read_bytes(unbroken.run() / "weights.pt"));
  CHECK(rows_in(broken.run()) == rows_in(unbroken.run()));
}

TEST_CASE("a second SIGINT ends the program at once") {
  ProgramFit fit(1000);
  Spawned process = fit.start({"--accumulate-grad-batches", "1000000", "--log-every-n-steps", "1", "--max-steps", "5",
                               "--val-check-interval", "1"});
  // A window that never ends: the first signal waits for it.
  for (int i = 0; i < 6000 && fit.rows() < 1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(process.id(), SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ::kill(process.id(), SIGINT);
  const int code = process.wait();
  CHECK((code == -SIGINT || code == 128 + SIGINT));
}

TEST_CASE("a signal that was ignored when the program began stays ignored") {
  ProgramFit fit;
  const std::string program = std::getenv("LEVIN_PROGRAM");
  Spawned process({"/bin/sh", "-c", "trap '' INT HUP; exec \"$0\" \"$@\"", program, "fit", "--config",
                   (fit.folder / "config.json").string(), "--default-root-dir", fit.folder.path().string()},
                  fit.folder / "log");
  fit.wait_for_rows(20);
  ::kill(process.id(), SIGINT);
  ::kill(process.id(), SIGHUP);
  CHECK(process.wait() == 0);
  INFO(fit.log());
  CHECK_FALSE(contains(fit.log(), "stopped by"));
}

TEST_CASE("SIGUSR1 saves, and the training continues") {
  ProgramFit fit;
  Spawned process = fit.start({});
  fit.wait_for_rows(20);
  ::kill(process.id(), SIGUSR1);
  CHECK(process.wait() == 0);
  CHECK_NOTHROW(levin::load_state(fit.run() / "checkpoints" / "on_signal.ckpt"));
}

TEST_CASE("on_sigusr1 and on_sigusr2 say whether a signal stops the run, saves, or is ignored") {
  for (const auto& [flag, number] : {std::pair("--on-sigusr1", SIGUSR1), std::pair("--on-sigusr2", SIGUSR2)}) {
    INFO(flag);
    for (const char* action : {"stop", "save", "ignore"}) {
      INFO(action);
      ProgramFit fit;
      Spawned process = fit.start({flag, action});
      fit.wait_for_rows(20);
      ::kill(process.id(), number);
      CHECK(process.wait() == (std::string(action) == "stop" ? 128 + number : 0));
      CHECK(fs::exists(fit.run() / "checkpoints" / "on_signal.ckpt") == (std::string(action) != "ignore"));
    }
  }
}

TEST_CASE("without handle_signals a signal ends the program as the system does") {
  ProgramFit fit;
  Spawned process = fit.start({"--handle-signals", "false"});
  fit.wait_for_rows(20);
  ::kill(process.id(), SIGTERM);
  CHECK(process.wait() == -SIGTERM);
  CHECK_FALSE(fs::exists(fit.run() / "checkpoints" / "on_signal.ckpt"));
}

TEST_CASE("inside a SLURM job SIGUSR1 queues the job again, and the job resumes from its checkpoint") {
  ProgramFit unbroken, fit;
  REQUIRE(unbroken.start({}).wait() == 0);
  // The job's environment, and a scontrol that records its arguments.
  fs::create_directories(fit.folder / "bin");
  const fs::path scontrol = fit.folder / "bin" / "scontrol", asked = fit.folder / "asked";
  write_bytes(scontrol, "#!/bin/sh\necho \"$@\" > " + asked.string() + "\n");
  ::chmod(scontrol.c_str(), 0755);
  const std::vector<std::string> job = {"SLURM_JOB_ID=42",
                                        "PATH=" + scontrol.parent_path().string() + ":" + std::getenv("PATH")};
  Spawned first = fit.start({}, job);
  fit.wait_for_rows(30);
  ::kill(first.id(), SIGUSR1);
  CHECK(first.wait() == 0);
  CHECK(read_bytes(asked) == "requeue 42\n");
  CHECK_NOTHROW(levin::load_state(fit.run() / "checkpoints" / "hpc_ckpt_1.ckpt"));
  auto again = job;
  again.push_back("SLURM_RESTART_COUNT=1");
  REQUIRE(fit.start({}, again).wait() == 0);
  CHECK(read_bytes(fit.run() / "weights.pt") == read_bytes(unbroken.run() / "weights.pt"));
  CHECK(rows_in(fit.run()) == rows_in(unbroken.run()));
}

TEST_CASE("a run ends before its SLURM job's time limit, with a checkpoint") {
  ProgramFit fit(1000);
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  const std::string end = "SLURM_JOB_END_TIME=" + std::to_string(now.count() + 63);
  CHECK(fit.start({}, {"SLURM_JOB_ID=7", end}).wait() == 0);
  CHECK(contains(read_bytes(fit.run() / "summary.json"), "\"status\": \"stopped\""));
  CHECK_NOTHROW(levin::load_state(fit.run() / "checkpoints" / "last.ckpt"));
}

TEST_CASE("wall_margin says how long before its SLURM job's time limit a run ends") {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  const std::vector<std::string> job = {"SLURM_JOB_ID=7", "SLURM_JOB_END_TIME=" + std::to_string(now.count() + 1800)};
  for (const auto& [margin, status] :
       {std::pair("00:02:00:00", "stopped"), std::pair("00:00:01:00", "completed"), std::pair("0", "completed")}) {
    INFO(margin);
    ProgramFit fit(2);
    CHECK(fit.start({"--wall-margin", margin}, job).wait() == 0);
    CHECK(contains(read_bytes(fit.run() / "summary.json"), std::string("\"status\": \"") + status + "\""));
  }
}
