// Several trainers in one process, which share LibTorch's generator of random numbers unless they have their own.
#include <atomic>
#include <thread>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

constexpr const char* kWarning = "two threads run trainers at the same time";

/// Trains one epoch; each batch waits until as many runs are in their first batch.
void train_beside(std::atomic<int>& running, int wanted, std::optional<int64_t> seed,
                  const std::string& generator = "default") {
  struct Waiting : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (batch_idx == 0) *running += 1;
      while (*running < wanted) std::this_thread::yield();
      return ToyModule::training_step(batch, batch_idx);
    }
    std::atomic<int>* running = nullptr;
    int wanted = 1;
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.seed = seed;
  options.random_generator = generator;
  Waiting module;
  module.running = &running;
  module.wanted = wanted;
  levin::Trainer(options).fit(module, ToyData(8).loader(4));
}

}  // namespace

TEST_CASE("runs with generators of their own do not warn") {
  const CapturedStderr captured;
  std::atomic<int> running = 0;
  std::thread other([&] { train_beside(running, 2, {}); });
  train_beside(running, 2, 7, "own");
  other.join();
  running = 0;
  // Of two that choose for themselves, the second one takes its own.
  std::thread another([&] { train_beside(running, 2, 4, "auto"); });
  train_beside(running, 2, 7, "auto");
  another.join();
  CHECK_FALSE(contains(captured.text(), kWarning));
}

TEST_CASE("a seeded run beside a run in another thread warns once that the seed does not decide") {
  const CapturedStderr captured;
  for (int i = 0; i < 2; ++i) {
    std::atomic<int> running = 0;
    train_beside(running, 1, 1);
    CHECK(occurrences(captured.text(), kWarning) == (i == 0 ? 0 : 1));
    running = 0;
    std::thread other([&] { train_beside(running, 2, {}); });
    train_beside(running, 2, 7);
    other.join();
    CHECK(occurrences(captured.text(), kWarning) == 1);
  }
}

TEST_CASE("a run inside of another run's hook in the same thread does not warn") {
  struct Nested : levin::Callback {
    void on_train_start(levin::Run&) override {
      std::atomic<int> running = 0;
      train_beside(running, 1, 3);
    }
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.seed = 1;
  options.callbacks = {Nested()};
  ToyModule module;
  const CapturedStderr captured;
  levin::Trainer(options).fit(module, ToyData(8).loader(4));
  CHECK_FALSE(contains(captured.text(), kWarning));
}

TEST_CASE("seed_everything decides the weights of a module that is made before its trainer") {
  const auto weights = [](int64_t seed) {
    levin::seed_everything(seed);
    ToyModule module;
    return copies(module.parameters());
  };
  CHECK(bit_equal(weights(3), weights(3)));
  CHECK_FALSE(bit_equal(weights(3), weights(4)));
  CHECK(contains(error_text<levin::UsageError>([] { levin::seed_everything(-1); }), "expected at least 0, got -1"));
}
