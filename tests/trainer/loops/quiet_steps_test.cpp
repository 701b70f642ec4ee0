// Steps read no value from the device between log points, and retain no memory.
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>
#include <set>

#include "tests/catch.h"
#include "tests/small_modules.h"

namespace {

/// Counts operations that wait for a device to hand over a value.
class SyncCounter {
 public:
  SyncCounter()
      : handle_(at::addGlobalCallback(at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}))) {
    counted = 0;
  }
  ~SyncCounter() { at::removeCallback(handle_); }
  static int64_t syncs() { return counted; }

 private:
  static std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& operation) {
    static const std::set<std::string> waiting = {"aten::item",       "aten::_local_scalar_dense",
                                                  "aten::is_nonzero", "aten::equal",
                                                  "aten::nonzero",    "aten::allclose"};
    if (waiting.count(operation.name())) ++counted;
    return nullptr;
  }
  static inline std::atomic<int64_t> counted = 0;
  at::CallbackHandle handle_;
};

/// Counts the live bytes of c10's CPU allocator since construction.
class LiveBytes : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t alloc_size, size_t, size_t, c10::Device) override { bytes += alloc_size; }
  bool memoryProfilingEnabled() const override { return true; }
  std::atomic<int64_t> bytes = 0;
};

}  // namespace

TEST_CASE("no value is read between log points") {
  const TemporaryFolder folder;
  ToyModule module;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.log_every_n_steps = 1000;
  options.enable_progress_bar = true;
  options.gradient_clip_val = 0.5;
  options.accumulate_grad_batches = 2;
  struct Window : levin::Callback {
    void on_train_batch_end(levin::Run& run) override {
      if (run.state().global_step == 2 && first < 0) first = SyncCounter::syncs();
      if (run.state().global_step == 60 && last < 0) last = SyncCounter::syncs();
    }
    int64_t first = -1, last = -1;
  };
  const auto window = std::make_shared<Window>();
  options.callbacks = {window};
  const SyncCounter counter;
  levin::Trainer(options).fit(module, ToyData(512).loader(4));
  REQUIRE(window->last >= 0);
  CHECK(window->last - window->first == 0);
  torch::ones({}).item<float>();
  CHECK(SyncCounter::syncs() > window->last);  // the counter counts
}

TEST_CASE("live bytes are flat over 2000 steps that log the loss") {
  const TemporaryFolder folder;
  ToyModule module;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 125;
  options.log_every_n_steps = 7;
  const auto live = std::make_shared<LiveBytes>();
  struct Samples : levin::Callback {
    explicit Samples(std::shared_ptr<LiveBytes> live_) : live(std::move(live_)) {}
    void on_train_batch_start(levin::Run& run) override {
      if (run.state().global_step >= 100) seen.insert(live->bytes);
    }
    std::shared_ptr<LiveBytes> live;
    std::set<int64_t> seen;
  };
  const auto samples = std::make_shared<Samples>(live);
  options.callbacks = {samples};
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, live);
  const auto result = levin::Trainer(options).fit(module, ToyData(64).loader(4));
  c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
  CHECK(result.global_step == 2000);
  REQUIRE_FALSE(samples->seen.empty());
  CHECK(*samples->seen.rbegin() - *samples->seen.begin() == 0);
}
