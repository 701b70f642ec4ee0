// Host syncs: LibTorch counts each call that waits for the GPU or reads a value from it.
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

#include <functional>
#include <numeric>

#include "tests/gpu/language_model.h"

namespace {

/// Counts LibTorch's warnings of waits in this thread, while it lives.
class WaitCounter final : c10::WarningHandler {
 public:
  WaitCounter() { c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_WARN); }
  ~WaitCounter() override { c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_DISABLED); }
  WaitCounter(const WaitCounter&) = delete;
  WaitCounter& operator=(const WaitCounter&) = delete;
  int64_t count() const { return count_; }

 private:
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("synchronizing") != std::string::npos) ++count_;
  }
  int64_t count_ = 0;
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

/// Counts, for each batch, the waits inside of it, and between it and the next, where values are logged.
struct Waits : levin::Callback {
  explicit Waits(const WaitCounter& counter_) : counter(counter_) {}
  void on_train_batch_start(levin::Run&) override {
    if (!inside.empty()) behind.push_back(counter.count() - mark);
    mark = counter.count();
  }
  void on_train_batch_end(levin::Run&) override {
    inside.push_back(counter.count() - mark);
    mark = counter.count();
  }
  const WaitCounter& counter;
  int64_t mark = 0;
  std::vector<int64_t> inside = {}, behind = {};
};

int64_t sum(const std::vector<int64_t>& counts, size_t first, size_t step = 1) {
  int64_t all = 0;
  for (size_t i = first; i < counts.size(); i += step) all += counts[i];
  return all;
}

constexpr int64_t kBatches = 40;

using Fit = std::function<void(const levin::TrainerOptions&)>;

void fit_toys(const levin::TrainerOptions& options) { train(options, ToyData(8 * kBatches).loader(8)); }

/// A run of 40 batches that logs after each tenth step.
std::shared_ptr<Waits> waits_of(levin::TrainerOptions options, const Fit& fit = fit_toys) {
  const WaitCounter counter;
  const auto waits = std::make_shared<Waits>(counter);
  options.callbacks = {waits};
  options.max_epochs = 1;
  options.log_every_n_steps = 10;
  fit(options);
  REQUIRE(waits->inside.size() == kBatches);
  REQUIRE(waits->behind.size() == kBatches - 1);
  return waits;
}

/// Checks that nothing waits in a batch, and between batches only log points do.
void check_quiet(const levin::TrainerOptions& options, size_t batches_of_a_step, const Fit& fit = fit_toys) {
  const auto waits = waits_of(options, fit);
  // The first step initialises libraries.
  CHECK(sum(waits->inside, batches_of_a_step) == 0);
  const size_t between_logs = 10 * batches_of_a_step;
  int64_t at_logs = 0, log_points = 0;
  for (size_t i = between_logs - 1; i < waits->behind.size(); i += between_logs, ++log_points) {
    CHECK(waits->behind[i] > 0);
    at_logs += waits->behind[i];
  }
  CHECK(log_points > 0);
  CHECK(sum(waits->behind, batches_of_a_step) == at_logs);
}

}  // namespace

TEST_CASE("the host waits for the GPU at log points alone", "[waits]") {
  const TemporaryFolder folder;
  for (const char* precision : {"32-true", "bf16-mixed", "bf16-true"}) {
    INFO(precision);
    levin::TrainerOptions options = single_steps(folder);
    options.precision = precision;
    check_quiet(options, 1);
    options.enable_progress_bar = true;
    check_quiet(options, 1);
  }
  check_quiet(on(folder, "gpu"), 2);
}

TEST_CASE("the host does not wait for the GPU in captured steps, nor in those of one rank", "[waits]") {
  const TemporaryFolder folder;
  levin::TrainerOptions graphs = single_steps(folder);
  graphs.cuda_graphs = true;
  check_quiet(graphs, 1);
  levin::TrainerOptions ddp = single_steps(folder);
  ddp.strategy = "ddp";
  check_quiet(ddp, 1);
}

TEST_CASE("the host does not wait for the GPU in steps of a language model", "[waits]") {
  const TemporaryFolder folder;
  const SmallFolder model("gpt2");
  for (const int64_t block_size : {0, 24})
    for (const bool graphs : {false, true}) {
      INFO(block_size << (graphs ? ", captured" : ""));
      levin::TrainerOptions options = single_steps(folder);
      options.precision = "bf16-mixed";
      options.cuda_graphs = graphs;
      check_quiet(options, 1, [&](const levin::TrainerOptions& of_run) {
        train_language_model(of_run, model, token_loader(4 * kBatches, 4), block_size);
      });
    }
}

TEST_CASE("a scaler waits once in a step, to learn if the step is made", "[waits]") {
  const TemporaryFolder folder;
  for (const bool graphs : {false, true}) {
    INFO(graphs);
    levin::TrainerOptions options = single_steps(folder);
    options.precision = "16-mixed";
    options.cuda_graphs = graphs;
    const auto waits = waits_of(options);
    CHECK(sum(waits->inside, 1) == kBatches - 1);
    CHECK(*std::max_element(waits->inside.begin() + 1, waits->inside.end()) == 1);
  }
}

TEST_CASE("a loss that is read in each step is counted", "[waits]") {
  struct Reading : ToyModule {
    void on_train_batch_end(levin::Run& run) override { last = run.output().loss.item<double>(); }
    double last = 0;
  };
  const TemporaryFolder folder;
  const WaitCounter counter;
  train<Reading>(single_steps(folder), ToyData(8 * kBatches).loader(8));
  CHECK(counter.count() >= 3 * kBatches);
}
