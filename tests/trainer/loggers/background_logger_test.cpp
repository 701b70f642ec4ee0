#include <levin/trainer/loggers/background_logger.h>
#include <levin/core/system/error.h>
#include <levin/trainer/loggers/logger_collection.h>

#include <torch/types.h>

#include <atomic>
#include <future>
#include <mutex>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"

using namespace levin;

namespace {

/// Waits in its first call until it is let go, and keeps what it was given.
struct SlowLogger : Logger {
  std::string name() const override { return "SlowLogger"; }
  void log_metrics(const Metrics& values, const LogRow& where) override {
    if (calls++ == 0) gate.wait();
    const std::lock_guard lock(mutex);
    sum += values.at("loss");
    last = where.step;
  }
  void log_image(const std::string& what, const torch::Tensor& image, const LogRow&) override {
    const std::lock_guard lock(mutex);
    seen = what + " " + std::to_string(image.sum().item<int64_t>());
  }
  void finalize(const std::string& status) override {
    const std::lock_guard lock(mutex);
    ended = status;
  }

  std::promise<void> key = {};
  std::shared_future<void> gate = key.get_future().share();
  std::atomic<int> calls = 0;
  std::mutex mutex = {};
  double sum = 0;
  int64_t last = 0;
  std::string seen = {}, ended = {};
};

}  // namespace

TEST_CASE("a logger in the background gets every call in order, and copies of tensors") {
  const auto slow = std::make_shared<SlowLogger>();
  BackgroundLogger logger(slow);
  CHECK(logger.name() == "SlowLogger");
  for (int64_t step = 1; step <= 10; ++step) logger.log_metrics({{"loss", 1.0}}, {.step = step});
  torch::Tensor image = torch::ones({2, 2}, torch::kByte);
  logger.log_image("x", image, {});
  image.zero_();
  slow->key.set_value();
  logger.finalize("completed");
  const std::lock_guard lock(slow->mutex);
  CHECK(slow->sum == 10);
  CHECK(slow->last == 10);
  CHECK(slow->seen == "x 4");
  CHECK(slow->ended == "completed");
}

TEST_CASE("a logger that hangs holds nobody: calls beyond the queue are dropped, and one warning says so") {
  const CapturedStderr captured;
  const auto slow = std::make_shared<SlowLogger>();
  {
    LoggerCollection loggers({std::make_shared<BackgroundLogger>(slow, 0.05)});
    for (int64_t step = 1; step <= 5000; ++step) loggers.log_metrics({{"loss", 1.0}}, {.step = step});
    loggers.finalize("completed");
    CHECK(slow->calls <= 1);
    CHECK(occurrences(captured.text(), "SlowLogger fails: it does not keep up: 1024 calls wait for it") == 1);
    CHECK(occurrences(captured.text(), "SlowLogger") == 1);
    slow->key.set_value();
  }
}

TEST_CASE("what a logger throws in the background is thrown by a later call") {
  struct Throwing : Logger {
    std::string name() const override { return "Throwing"; }
    void log_metrics(const Metrics&, const LogRow&) override { throw Error("no route"); }
  };
  BackgroundLogger logger(std::make_shared<Throwing>());
  CHECK(error_text([&] {
          logger.log_metrics({{"loss", 1.0}}, {});
          logger.finalize("completed");
        }) == "no route");
  CHECK(contains(error_text([] { BackgroundLogger none(nullptr); }), "expected a logger, got a null pointer"));
}
