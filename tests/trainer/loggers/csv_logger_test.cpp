#include <levin/trainer/loggers/csv_logger.h>
#include <levin/core/system/error.h>

#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using namespace levin;

TEST_CASE("CSVLogger writes one row for each call, with the shortest exact numbers") {
  TemporaryFolder folder;
  CSVLogger logger(folder.path());
  logger.log_metrics({{"loss", 0.1}, {"acc", 1.0}}, {.step = 50, .epoch = 0, .wall_seconds = 1.5});
  logger.log_metrics({{"loss", 1.0 / 3}}, {.step = 100, .epoch = 1, .wall_seconds = 2.25});
  logger.log_metrics({}, {.step = 150});
  logger.log_metrics({{"acc", std::nan("")}, {"loss", -std::numeric_limits<double>::infinity()}}, {.step = 200});
  CHECK(read_bytes(folder.path() / "metrics.csv") ==
        "epoch,step,wall_seconds,acc,loss\n"
        "0,50,1.5,1,0.1\n"
        "1,100,2.25,,0.3333333333333333\n"
        "0,200,0,nan,-inf\n");
}

TEST_CASE("CSVLogger widens the header when a metric appears later, and leaves nothing else behind") {
  TemporaryFolder folder;
  CSVLogger logger(folder.path());
  logger.log_metrics({{"train_loss", 2.0}}, {.step = 1});
  logger.log_metrics({{"val_loss", 3.0}, {"a,\"b\"", 4.0}}, {.step = 1});
  logger.log_metrics({{"train_loss", 1.0}}, {.step = 2});
  CHECK(read_bytes(folder.path() / "metrics.csv") ==
        "epoch,step,wall_seconds,train_loss,\"a,\"\"b\"\"\",val_loss\n"
        "0,1,0,2,,\n"
        "0,1,0,,4,3\n"
        "0,2,0,1,,\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("CSVLogger continues a file, whose last line may be cut off") {
  TemporaryFolder folder;
  {
    CSVLogger(folder.path()).log_metrics({{"loss", 2.0}, {"quoted\"\nname", 7.0}}, {.step = 1});
  }
  std::ofstream(folder.path() / "metrics.csv", std::ios::app) << "0,2,1.2";
  CSVLogger logger(folder.path());
  logger.log_metrics({{"loss", 1.0}, {"quoted\"\nname", 8.0}}, {.step = 3});
  CHECK(read_bytes(folder.path() / "metrics.csv") ==
        "epoch,step,wall_seconds,loss,\"quoted\"\"\nname\"\n"
        "0,1,0,2,7\n"
        "0,3,0,1,8\n");
}

TEST_CASE("CSVLogger goes back to its state") {
  TemporaryFolder folder;
  CSVLogger logger(folder.path());
  logger.log_metrics({{"loss", 3.0}}, {.step = 1});
  const State state = logger.state_dict();
  logger.log_metrics({{"loss", 2.0}}, {.step = 2});
  logger.log_metrics({{"loss", 1.0}}, {.step = 3});

  CSVLogger resumed(folder.path());
  resumed.load_state_dict(state);
  resumed.log_metrics({{"loss", 0.5}}, {.step = 2});
  CHECK(read_bytes(folder.path() / "metrics.csv") == "epoch,step,wall_seconds,loss\n0,1,0,3\n0,2,0,0.5\n");

  TemporaryFolder other;
  CSVLogger elsewhere(other.path());
  elsewhere.load_state_dict(state);
  CHECK(read_bytes(other.path() / "metrics.csv") == "epoch,step,wall_seconds\n");
}

TEST_CASE("CSVLogger says what is wrong") {
  TemporaryFolder folder;
  const std::string file = (folder.path() / "metrics.csv").string();
  SECTION("a foreign file") {
    std::ofstream(file) << "a,b\n1,2\n";
    const std::string message = error_text([&] { CSVLogger logger(folder.path()); });
    CHECK(contains(message, file));
    CHECK(contains(message, "epoch,step,wall_seconds"));
  }
  SECTION("no folder") {
    const std::string message = error_text([&] { CSVLogger logger(folder.path() / "none"); });
    CHECK(contains(message, "none/metrics.csv: cannot open the file"));
  }
  SECTION("the folder is removed") {
    CSVLogger logger(folder.path());
    logger.log_metrics({{"loss", 1.0}}, {});
    std::filesystem::remove_all(folder.path());
    const std::string message = error_text([&] { logger.log_metrics({{"loss", 1.0}}, {}); });
    CHECK(message == file + ": the file was removed while the run was writing to it");
  }
  SECTION("a metric with the name of a column") {
    CSVLogger logger(folder.path());
    CHECK_THROWS_AS(logger.log_metrics({{"epoch", 1.0}}, {}), UsageError);
  }
}
