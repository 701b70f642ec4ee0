#include <levin/core/options/option.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/program/cli/config_files.h"
#include "tests/program/cli/program.h"
#include "tests/temporary_folder.h"

using levin::testing::ConfigFile;
using levin::testing::ProgramRun;
using levin::testing::run_program;

namespace {

using Arguments = std::vector<std::string>;

constexpr const char* kOneCycle = R"({"seed": 3, "name": "run",
  "trainer": {"max_epochs": 2, "log_every_n_steps": 1, "enable_progress_bar": false, "num_sanity_val_steps": 0,
              "callbacks": ["LearningRateMonitor"]},
  "model": {"class": "ImageClassifier", "net": "mlp", "hidden": 8, "optimizer": {"class": "SGD"},
            "lr_scheduler": {"class": "OneCycleLR", "max_lr": 0.1, "total_steps": "auto", "interval": "step"}},
  "data": {"class": "SyntheticDigits", "train_size": 320, "val_size": 32, "batch_size": 32}})";

struct Said {
  ProgramRun run = {};
  std::string lines = {};
};

/// The result of `levin ARGUMENTS`, with the lines that it logs to stderr.
Said said(const Arguments& arguments) {
  const CapturedStderr captured;
  Said result{.run = run_program(arguments)};
  result.lines = captured.text() + result.run.err;
  return result;
}

/// Returns the highest learning rate that the run logged after `step`.
double highest_rate_behind(const Said& said, int64_t step) {
  REQUIRE(said.run.code == 0);
  const std::string name = "run folder  ";
  const size_t begin = said.run.out.find(name) + name.size();
  const std::filesystem::path folder = said.run.out.substr(begin, said.run.out.find('\n', begin) - begin);
  std::ifstream rows(folder / "metrics.jsonl");
  double highest = -1;
  for (std::string line; std::getline(rows, line);) {
    const levin::Json row = levin::Json::parse(line);
    for (const auto& item : row.items())
      if (item.key().starts_with("lr-") && row["step"].get<int64_t>() > step)
        highest = std::max(highest, item.value().get<double>());
  }
  return highest;
}

}  // namespace

TEST_CASE("a finished OneCycleLR run continues only by a choice, which the error names") {
  const TemporaryFolder folder;
  const ConfigFile config(kOneCycle);
  const Arguments fit = {"fit", "--config", config.path(), "--default-root-dir", folder.path().string()};
  REQUIRE(said(fit).run.code == 0);
  const auto checkpoints = folder.path() / "run" / "version_0" / "checkpoints";
  const std::string checkpoint = std::filesystem::directory_iterator(checkpoints)->path().string();
  const auto again = [&](const Arguments& more) {
    Arguments arguments = fit;
    arguments.insert(arguments.end(), {"--ckpt-path", checkpoint, "--max-epochs", "3"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return said(arguments);
  };
  const Said refused = again({});
  CHECK(refused.run.code == 2);
  INFO(refused.lines);
  CHECK(
      contains(refused.lines,
               "OneCycleLR: the schedule of the checkpoint is made for 20 steps, this run's options for 30, and it is "
               "at its end; choose what follows: when_longer \"hold\" keeps its last rates"));
  const Said held = again({"--model.lr_scheduler.when_longer", "hold"});
  INFO(held.lines);
  CHECK(contains(held.lines, "the last rates stay from step 20 on"));
  CHECK(std::abs(highest_rate_behind(held, 21) - 0.1 / 25 / 1e4) < 1e-12);
  const Said stretched = again({"--model.lr_scheduler.when_longer", "stretch"});
  INFO(stretched.lines);
  CHECK(contains(stretched.lines, "from step 20 on it is that of 30"));
  CHECK(highest_rate_behind(stretched, 21) > 0.01);
}

TEST_CASE("a rate and weights that are given to a resumed run are said to have no effect, and not recorded") {
  const TemporaryFolder folder;
  const ConfigFile config(kOneCycle);
  const Arguments fit = {"fit",
                         "--config",
                         config.path(),
                         "--default-root-dir",
                         folder.path().string(),
                         "--model.lr_scheduler",
                         "null",
                         "--model.optimizer.lr",
                         "0.25"};
  REQUIRE(said(fit).run.code == 0);
  const auto run = folder.path() / "run" / "version_0";
  Arguments again = fit;
  again.back() = "0.5";
  again.insert(again.end(),
               {"--ckpt-path", "last", "--max-epochs", "3", "--model.weights", (run / "weights.pt").string()});
  const auto recorded = [&](const char* key) {
    std::ifstream file(run / "config.json");
    return levin::Json::parse(file).at("model").at(key).dump();
  };
  const Said kept = said(again);
  INFO(kept.lines);
  REQUIRE(kept.run.code == 0);
  CHECK(contains(kept.lines, "model.optimizer.lr: 0.5 has no effect in a resumed run, which keeps 0.25"));
  CHECK(contains(kept.lines, "model.weights: "));
  CHECK(contains(recorded("optimizer"), "0.25"));
  CHECK(recorded("weights") == "\"\"");
  CHECK(highest_rate_behind(kept, 20) == 0.25);
  again.insert(again.end(), {"--resume-optimizer-options", "present", "--max-epochs", "4"});
  const Said present = said(again);
  INFO(present.lines);
  CHECK_FALSE(contains(present.lines, "model.optimizer.lr: 0.5 has no effect"));
  CHECK(contains(recorded("optimizer"), "0.5"));
  CHECK(highest_rate_behind(present, 30) == 0.5);
}

TEST_CASE("options without effect give a warning") {
  const ConfigFile config(kOneCycle);
  const auto warnings = [&](const Arguments& more) {
    Arguments arguments = {"config", "check", "--config", config.path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Said result = said(arguments);
    CHECK(result.run.code == 0);
    return result.lines;
  };
  CHECK(warnings({}).empty());
  const std::string decides = " has no effect: OneCycleLR takes its rates from model.lr_scheduler.max_lr";
  CHECK(contains(warnings({"--model.optimizer.lr", "0.002"}), "--model.optimizer.lr" + decides));
  CHECK(contains(warnings({"--auto-lr-find", "true"}), "--auto-lr-find" + decides));
  CHECK(contains(warnings({"--model.lr_scheduler.monitor", "val_acc"}),
                 "--model.lr_scheduler.monitor has no effect: OneCycleLR follows no metric"));
  CHECK(warnings({"--model.lr_scheduler.max_lr", "0.002"}).empty());
  const Arguments plateau = {"--model.lr_scheduler.class",   "ReduceLROnPlateau",
                             "--model.lr_scheduler.monitor", "val_acc",
                             "--model.optimizer.lr",         "0.5"};
  CHECK(warnings(plateau).empty());
}
