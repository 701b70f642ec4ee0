#include <levin/trainer/loggers/logger_collection.h>
#include <levin/core/system/error.h>
#include <levin/trainer/loggers/csv_logger.h>
#include <levin/trainer/loggers/json_lines_logger.h>
#include <levin/trainer/loggers/mlflow_logger.h>
#include <levin/trainer/loggers/tensorboard_logger.h>
#include <levin/trainer/loggers/wandb_logger.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/small_modules.h"
#include "tests/trainer/loggers/child_process.h"

using namespace levin;

namespace {

/// Throws in every function, and counts the calls.
struct BrokenLogger : Logger {
  std::string name() const override { return "BrokenLogger"; }
  void log_metrics(const Metrics&, const LogRow&) override { fail("log_metrics"); }
  void log_hyperparameters(const std::string&) override { fail("log_hyperparameters"); }
  void log_graph(LightningModule&) override { fail("log_graph"); }
  void log_image(const std::string&, const at::Tensor&, const LogRow&) override { fail("log_image"); }
  void log_histogram(const std::string&, const at::Tensor&, const LogRow&) override { fail("log_histogram"); }
  void log_text(const std::string&, const std::string&, const LogRow&) override { fail("log_text"); }
  void log_artifact(const std::filesystem::path&, const std::string&) override { fail("log_artifact"); }
  void log_exception(const std::string&) override { fail("log_exception"); }
  void finalize(const std::string&) override { fail("finalize"); }
  State state_dict() const override { fail("state_dict"); }
  void load_state_dict(const State&) override { fail("load_state_dict"); }

  [[noreturn]] void fail(const char* what) const {
    calls.push_back(what);
    if (throws_a_number) throw 7;
    throw std::runtime_error(std::string("the server of ") + what + " is gone");
  }
  bool throws_a_number = false;
  mutable std::vector<std::string> calls = {};
};

struct Logging : ToyModule {
  StepOutput training_step(const Batch& batch, int64_t idx) override {
    run().log_text("note", "text");
    run().log_image("image", torch::zeros({1, 2, 2}));
    run().log_histogram("weights", net->parameters()[0]);
    return ToyModule::training_step(batch, idx);
  }
};

int64_t lines_of(const std::filesystem::path& file) {
  const std::string text = read_bytes(file);
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

TEST_CASE("one logger object is a run's logger, without a list around it") {
  const auto logger = std::make_shared<BrokenLogger>();
  TrainerOptions options;
  options.logger = logger;
  const auto made = options.logger.make("");
  REQUIRE(made.size() == 1);
  CHECK(made[0] == logger);
  CHECK(TrainerOptions{.logger = std::make_shared<BrokenLogger>()}.logger.is_on());
  CHECK(TrainerOptions{.logger = {{logger, logger}}}.logger.make("").size() == 2);
  CHECK_THROWS_AS(LoggerChoice(std::shared_ptr<BrokenLogger>()), UsageError);
}

TEST_CASE("a logger that fails in every function does not stop a fit, and is reported once") {
  const TemporaryFolder folder;
  const CapturedStderr captured;
  const auto broken = std::make_shared<BrokenLogger>(), number = std::make_shared<BrokenLogger>();
  number->throws_a_number = true;
  std::vector<std::shared_ptr<Logger>> loggers = {broken, number};
  Trainer trainer({.logger = loggers,
                   .max_epochs = 2,
                   .log_every_n_steps = 1,
                   .enable_progress_bar = false,
                   .default_root_dir = folder.path().string()});
  Logging module;
  const RunResult result = trainer.fit(module, ToyData(16).loader(8));
  CHECK(result.status == "completed");
  CHECK(result.global_step == 4);
  for (const char* what : {"log_hyperparameters", "log_graph", "log_metrics", "log_text", "log_image", "log_histogram",
                           "state_dict", "finalize"}) {
    INFO(what);
    CHECK(std::count(broken->calls.begin(), broken->calls.end(), what) > 0);
  }
  CHECK(std::count(broken->calls.begin(), broken->calls.end(), "log_metrics") >= 4);
  CHECK(occurrences(captured.text(), "BrokenLogger fails: the server of log_hyperparameters is gone") == 1);
  CHECK(occurrences(captured.text(), "BrokenLogger fails: an exception that is no std::exception") == 1);
  CHECK(occurrences(captured.text(), "BrokenLogger") == 2);
}

TEST_CASE("files of loggers that are removed during a fit do not stop it") {
  const TemporaryFolder folder;
  const CapturedStderr captured;
  struct Removing : ToyModule {
    StepOutput training_step(const Batch& batch, int64_t idx) override {
      if (global_step() == 1) std::filesystem::remove(run().folder() / "metrics.csv");
      return ToyModule::training_step(batch, idx);
    }
  } module;
  Trainer trainer({.logger = true,
                   .max_steps = 4,
                   .log_every_n_steps = 1,
                   .enable_progress_bar = false,
                   .default_root_dir = folder.path().string()});
  const RunResult result = trainer.fit(module, ToyData(16).loader(4));
  CHECK(result.global_step == 4);
  CHECK(lines_of(result.folder / "metrics.jsonl") >= 4);
  CHECK(occurrences(captured.text(), "CSVLogger fails: ") == 1);
  CHECK(contains(captured.text(), "the file was removed while the run was writing to it"));
}

TEST_CASE("a full disk loses rows and no more: files stay whole, and go on once there is room") {
  const TemporaryFolder folder;
  ChildProcess child([&](const ChildProcess::Tell& tell) {
    ::signal(SIGXFSZ, SIG_IGN);
    const CapturedStderr captured;
    const MLflowLoggerOptions nobody{.tracking_uri = "http://127.0.0.1:9", .timeout_seconds = 1};
    LoggerCollection loggers({std::make_shared<CSVLogger>(folder.path()),
                              std::make_shared<JSONLinesLogger>(folder.path()),
                              std::make_shared<TensorBoardLogger>(folder.path()),
                              std::make_shared<WandbLogger>(folder.path(), WandbLoggerOptions{.id = "full"}),
                              std::make_shared<MLflowLogger>(folder.path(), nobody)});
    const rlimit limit = {2000, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    for (int64_t step = 1; step <= 200; ++step) loggers.log_metrics({{"loss", 0.5}}, {.step = step});
    loggers.log_metrics({{"loss", 0.5}, {"late", 1}}, {.step = 201});
    const State full = loggers.state_dict();
    const rlimit room = {RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &room);
    loggers.log_metrics({{"loss", 0.25}, {"late", 2}}, {.step = 202});
    loggers.finalize("completed");
    std::string counts;
    for (const char* name : {"CSVLogger", "JSONLinesLogger", "TensorBoardLogger", "WandbLogger", "MLflowLogger"})
      counts += std::to_string(occurrences(captured.text(), std::string(name) + " fails: ")) + " ";
    tell(std::to_string(full.items()[0].at("state").at("rows").to_int()) + " " + counts);
  });
  std::istringstream told(child.read_all());
  CHECK(child.wait() == 0);
  int64_t rows = 0, warnings = 0;
  told >> rows;
  for (int i = 0; i < 5; ++i) {
    told >> warnings;
    CHECK(warnings == 1);
  }
  CHECK(rows > 50);
  CHECK(rows < 200);
  const std::string csv = read_bytes(folder.path() / "metrics.csv");
  CHECK(contains(csv, "epoch,step,wall_seconds,loss,late\n0,1,0,0.5,\n"));
  CHECK(csv.ends_with("\n0,202,0,0.25,2\n"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == rows + 2);
  for (const char* name : {"metrics.jsonl", "mlflow_queue.jsonl"}) {
    INFO(name);
    std::istringstream lines(read_bytes(folder.path() / name));
    int64_t last = 0;
    for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line).value("step", last);
    CHECK(last == 202);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() / "wandb")) {
    if (entry.path().extension() != ".wandb") continue;
    const auto size = static_cast<int64_t>(entry.file_size());
    const WandbFile file(entry.path());
    CHECK(file.size() == size);
    CHECK(file.records() > 5);
  }
}

TEST_CASE("a file system without room leaves whole rows of each logger") {
  const TemporaryFolder folder;
  ChildProcess child([&](const ChildProcess::Tell& tell) {
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 && ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") == 0;
    if (!mounted) return tell("not allowed");
    LoggerCollection loggers({std::make_shared<CSVLogger>(folder.path()),
                              std::make_shared<JSONLinesLogger>(folder.path()),
                              std::make_shared<TensorBoardLogger>(folder.path())});
    for (int64_t step = 1; step <= 2000; ++step) loggers.log_metrics({{"loss", 0.5}}, {.step = step});
    loggers.finalize("completed");
    const State states = loggers.state_dict();
    std::string counts;
    for (size_t i = 0; i < 2; ++i) {
      const std::string text = read_bytes(folder.path() / (i == 0 ? "metrics.csv" : "metrics.jsonl"));
      const int64_t rows = std::count(text.begin(), text.end(), '\n') - (i == 0);
      const bool whole = text.ends_with('\n') && rows == states.items()[i].at("state").at("rows").to_int();
      counts += whole && rows > 10 && rows < 2000 ? "whole " : "broken ";
    }
    tell(counts);
  });
  const std::string said = child.read_all();
  CHECK(child.wait() == 0);
  if (said != "not allowed") CHECK(said == "whole whole ");
}

TEST_CASE("a logger that cannot be made is left out, and wrong options are an error") {
  const TemporaryFolder folder;
  const CapturedStderr captured;
  std::filesystem::create_directory(folder.path() / "metrics.csv");
  const auto made = LoggerChoice(true).make(folder.path());
  REQUIRE(made.size() == 1);
  CHECK(made[0]->name() == "JSONLinesLogger");
  CHECK(occurrences(captured.text(), "CSVLogger cannot be made: ") == 1);
}

TEST_CASE("states go to the loggers of their class, whatever the order") {
  const TemporaryFolder folder;
  LoggerCollection before(
      {std::make_shared<CSVLogger>(folder.path()), std::make_shared<JSONLinesLogger>(folder.path())});
  before.log_metrics({{"loss", 2.0}}, {.step = 1});
  const State states = before.state_dict();
  before.log_metrics({{"loss", 1.0}}, {.step = 2});

  LoggerCollection after(
      {std::make_shared<JSONLinesLogger>(folder.path()), std::make_shared<CSVLogger>(folder.path())});
  after.load_state_dict(states);
  CHECK(lines_of(folder.path() / "metrics.csv") == 2);
  CHECK(lines_of(folder.path() / "metrics.jsonl") == 1);
}

TEST_CASE("mistakes of the module are errors, with loggers and without") {
  const LoggerCollection none;
  LoggerCollection loggers;
  for (const torch::Tensor& image : {torch::Tensor(), torch::zeros({2, 3, 3}), torch::zeros({4}),
                                     torch::zeros({1, 0, 2}), torch::zeros({2, 2}, torch::kLong)}) {
    const std::string text = error_text([&] { loggers.log_image("faces", image, {}); });
    CHECK(contains(text, "log_image: 'faces' must be [height, width]"));
  }
  CHECK(contains(error_text([&] { loggers.log_histogram("w", torch::Tensor(), {}); }), "log_histogram: 'w' must be"));
  CHECK(contains(error_text([&] { loggers.log_histogram("w", torch::zeros({2}, torch::kComplexFloat), {}); }),
                 "got ComplexFloat"));
  const TemporaryFolder folder;
  loggers = LoggerCollection({std::make_shared<CSVLogger>(folder.path())});
  CHECK_THROWS_AS(loggers.log_metrics({{"epoch", 1.0}}, {}), UsageError);
}
