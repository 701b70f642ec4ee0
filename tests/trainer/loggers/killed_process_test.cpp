#include <levin/core/system/error.h>
#include <levin/trainer/loggers/csv_logger.h>
#include <levin/trainer/loggers/json_lines_logger.h>

#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "tests/catch.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/loggers/child_process.h"

using namespace levin;

TEST_CASE("A killed process leaves every row that it logged") {
  TemporaryFolder folder;
  ChildProcess child([&](const ChildProcess::Tell& tell) {
    CSVLogger csv(folder.path());
    JSONLinesLogger json_lines(folder.path());
    for (int64_t step = 1; step <= 100; ++step) {
      Metrics values = {{"loss", 0.5}};
      if (step % 10 == 0) values["metric_" + std::to_string(step)] = 1;
      csv.log_metrics(values, {.step = step});
      json_lines.log_metrics(values, {.step = step});
    }
    tell("logged");
    for (;;) ::pause();
  });
  REQUIRE(child.read_some() == "logged");
  child.kill(SIGKILL);
  CHECK(child.wait() == -SIGKILL);

  const std::string csv = read_bytes(folder.path() / "metrics.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 101);
  CHECK(csv.find("\n0,100,0,0.5,,,,,,,,,,1\n") != std::string::npos);
  const std::string json_lines = read_bytes(folder.path() / "metrics.jsonl");
  CHECK(std::count(json_lines.begin(), json_lines.end(), '\n') == 100);
}

TEST_CASE("A process killed at any moment leaves rows under a header that fits them") {
  for (int round = 0; round < 10; ++round) {
    TemporaryFolder folder;
    ChildProcess child([&](const ChildProcess::Tell& tell) {
      CSVLogger logger(folder.path());
      tell("started");
      for (int64_t step = 1;; ++step) logger.log_metrics({{"metric_" + std::to_string(step % 100), 1}}, {.step = step});
    });
    REQUIRE(child.read_some() == "started");
    ::usleep(1000 * static_cast<useconds_t>(round));
    child.kill(SIGKILL);
    child.wait();

    CSVLogger(folder.path());  // removes the end of a row that the kernel had not written in full
    const std::string csv = read_bytes(folder.path() / "metrics.csv");
    REQUIRE(csv.substr(0, 23) == "epoch,step,wall_seconds");
    REQUIRE(csv.back() == '\n');
    const auto commas = std::count(csv.begin(), csv.end(), ',');
    const auto lines = std::count(csv.begin(), csv.end(), '\n');
    CHECK(commas % lines == 0);
  }
}

TEST_CASE("A full disk is an error that names the file, and the rows before it stay") {
  TemporaryFolder folder;
  ChildProcess child([&](const ChildProcess::Tell& tell) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    CSVLogger logger(folder.path());
    try {
      for (int64_t step = 1; step <= 4096; ++step) logger.log_metrics({{"loss", 0.5}}, {.step = step});
    } catch (const Error& error) {
      tell(error.what());
    }
  });
  const std::string message = child.read_all();
  CHECK(message.find("metrics.csv: cannot write to the file: ") != std::string::npos);
  CHECK(child.wait() == 0);
  CSVLogger(folder.path());
  const std::string csv = read_bytes(folder.path() / "metrics.csv");
  CHECK(csv.size() > 4000);
  CHECK(csv.back() == '\n');
}
