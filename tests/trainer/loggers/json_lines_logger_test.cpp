#include <levin/trainer/loggers/json_lines_logger.h>
#include <levin/core/system/error.h>
#include <levin/trainer/run_folder/run_summary.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using namespace levin;

TEST_CASE("JSONLinesLogger writes one object for each row") {
  TemporaryFolder folder;
  JSONLinesLogger logger(folder.path());
  logger.log_metrics({{"train_loss", 0.1}}, {.step = 50, .epoch = 0, .wall_seconds = 1.5});
  logger.log_metrics({{"val \"acc\"\n", 1.0}}, {.step = 50, .epoch = 1, .wall_seconds = 2});
  logger.log_metrics({}, {.step = 51});
  CHECK(read_bytes(folder.path() / "metrics.jsonl") ==
        "{\"step\":50,\"epoch\":0,\"wall_seconds\":1.5,\"train_loss\":0.1}\n"
        "{\"step\":50,\"epoch\":1,\"wall_seconds\":2.0,\"val \\\"acc\\\"\\n\":1.0}\n");
}

TEST_CASE("JSONLinesLogger stays valid JSON with values and names that JSON does not know") {
  TemporaryFolder folder;
  JSONLinesLogger logger(folder.path());
  const double infinity = std::numeric_limits<double>::infinity();
  logger.log_metrics({{"a", std::nan("")}, {"b", infinity}, {"c", -infinity}, {"\xff", 1e-300}}, {});
  const auto row = nlohmann::json::parse(read_bytes(folder.path() / "metrics.jsonl"));
  CHECK(row["a"] == "NaN");
  CHECK(row["b"] == "Infinity");
  CHECK(row["c"] == "-Infinity");
  CHECK(row["\xEF\xBF\xBD"] == 1e-300);
}

TEST_CASE("JSONLinesLogger continues a file and goes back to its state") {
  TemporaryFolder folder;
  State state;
  {
    JSONLinesLogger logger(folder.path());
    for (int64_t step = 1; step <= 3; ++step) {
      logger.log_metrics({{"loss", 1.0}}, {.step = step});
      if (step == 2) state = logger.state_dict();
    }
  }
  std::ofstream(folder.path() / "metrics.jsonl", std::ios::app) << "{\"step\":4,";
  JSONLinesLogger logger(folder.path());
  logger.load_state_dict(state);
  logger.log_metrics({{"loss", 1.0}}, {.step = 9});
  std::istringstream lines(read_bytes(folder.path() / "metrics.jsonl"));
  std::vector<int64_t> steps;
  for (std::string line; std::getline(lines, line);) steps.push_back(nlohmann::json::parse(line)["step"]);
  CHECK(steps == std::vector<int64_t>{1, 2, 9});
}

TEST_CASE("write_run_summary writes every field") {
  TemporaryFolder folder;
  RunResult summary{.status = "success", .epochs = 5, .global_step = 50, .wall_seconds = 1.5};
  summary.metrics = {{"val_acc", 0.95}, {"val_loss", std::nan("")}};
  write_run_summary(folder.path(), summary);
  auto json = nlohmann::ordered_json::parse(read_bytes(folder.path() / "summary.json"));
  CHECK(json.dump() == R"({"status":"success","epochs":5,"global_step":50,"wall_seconds":1.5,)"
                       R"("metrics":{"val_acc":0.95,"val_loss":"NaN"},"best_checkpoint":null,"best_score":null})");

  summary.best_checkpoint = "checkpoints/best.ckpt";
  summary.best_score = 0.25;
  write_run_summary(folder.path(), summary);
  json = nlohmann::ordered_json::parse(read_bytes(folder.path() / "summary.json"));
  CHECK(json["best_checkpoint"] == "checkpoints/best.ckpt");
  CHECK(json["best_score"] == 0.25);
  CHECK_THROWS_AS(write_run_summary(folder.path() / "none", summary), Error);
}
