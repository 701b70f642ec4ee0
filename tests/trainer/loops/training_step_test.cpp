// The step alone: the arithmetic of a window as a table, and steps driven by hand, without loaders, epochs or FitLoop.
#include <levin/trainer/loops/training_step.h>
#include <levin/trainer/logging/metric_sink.h>
#include <levin/trainer/loops/accumulation_window.h>
#include <levin/trainer/strategies/single_device.h>

#include "tests/catch.h"
#include "tests/fake_run.h"
#include "tests/small_modules.h"

using namespace levin;

namespace {

/// All that a step needs, made by hand.
struct HandDriven {
  explicit HandDriven(ToyModule& module_, const TrainerOptions& given)
      : module(module_), options(levin::resolve(given)) {
    context = {.run = &run, .sink = &sink, .device = strategy.device()};
    levin::ModuleAccess::set_context(module, &context);
    strategy.set_context(context);
    strategy.place(module);
    for (auto& entry : module.configure_optimizers().entries) optimizers.push_back(entry.optimizer);
    strategy.attach(optimizers);
    counters.accumulate_grad_batches = options->accumulate_grad_batches;
    step = make_training_step(
        {options, module, overrides, strategy, precision, optimizers, counters, hooks, run, context, nullptr});
    context.optimizers = step.get();
  }
  ~HandDriven() { levin::ModuleAccess::set_context(module, nullptr); }

  ToyModule& module;
  levin::ResolvedOptions options;
  ModuleOverrides overrides = {};
  SingleDeviceStrategy strategy{c10::kCPU};
  FullPrecision precision = {};
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers = {};
  TrainerState counters = {};
  HookDispatch hooks = {};
  FakeRun run = {};
  MetricSink sink = {};
  StepContext context = {};
  std::unique_ptr<TrainingStep> step = {};
};

}  // namespace

TEST_CASE("micro-batches of a window get the right factors") {
  struct Row {
    const char* name;
    int64_t k;
    std::vector<double> weights;      ///< of this rank's micro-batches; the last ends the epoch
    std::vector<double> loss_shares;  ///< w / w0
    double total;                     ///< on all ranks
    int64_t ranks;
    double gradient_factor;
  };
  const Row rows[] = {
      {"full and equal", 2, {4, 4}, {1, 1}, 8, 1, 1},
      {"unequal", 2, {4, 2}, {1, 0.5}, 6, 1, 8.0 / 6},
      {"cut short by the epoch's end", 4, {4}, {1}, 4, 1, 4},
      {"first without a weight", 2, {0, 3}, {0, 1}, 3, 1, 2},
      {"two ranks alike", 1, {4}, {1}, 8, 2, 1},
      {"the other rank has nothing", 1, {4}, {1}, 4, 2, 2},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    WindowState state;
    AccumulationWindow window(state);
    for (size_t i = 0; i < row.weights.size(); ++i) {
      const bool last = i + 1 == row.weights.size();
      window.enter(row.k, last);
      CHECK(window.is_first() == (i == 0));
      CHECK(window.is_last() == last);
      window.add(row.weights[i]);
      CHECK(window.loss_share(row.weights[i]) == row.loss_shares[i]);
      if (last) CHECK(window.gradient_factor(row.total, row.ranks) == row.gradient_factor);
      window.leave();
    }
    CHECK(state.position == 0);
  }
}

TEST_CASE("a window of several ranks uses their common first weight, and a weight that is set again counts once") {
  WindowState state;
  AccumulationWindow window(state);
  window.enter(2, /*last_of_epoch=*/false);
  window.add(3, /*reference=*/2);
  window.add(5, /*reference=*/2);
  CHECK(state.first_weight == 2);
  CHECK(state.sum_of_weights == 5);
  CHECK(window.loss_share(5) == 2.5);
  window.leave();
  CHECK(state.position == 1);
  window.enter(2, /*last_of_epoch=*/false);
  window.add(1, /*reference=*/2);
  CHECK(state.sum_of_weights == 6);
  CHECK(window.is_last());
}

TEST_CASE("steps driven by hand, without a loader or an epoch, are those of fit") {
  const int64_t k = GENERATE(1, 2, 3);
  const ToyData data(40);
  const TemporaryFolder folder;
  TrainerOptions options = quiet(folder);
  options.accumulate_grad_batches = k;
  options.max_epochs = 1;
  options.gradient_clip_val = 0.5;
  options.logger = false;
  options.enable_checkpointing = false;

  torch::manual_seed(1);
  ToyModule fitted;
  Trainer(options).fit(fitted, data.loader(7));

  torch::manual_seed(1);
  ToyModule driven;
  HandDriven by_hand(driven, options);
  int64_t steps = 0;
  constexpr int64_t kBatches = 6;  // of 7, and one of 5
  for (int64_t i = 0; i < kBatches; ++i) {
    const int64_t rows = std::min<int64_t>(7, 40 - 7 * i);
    const Batch batch(data.input.narrow(0, 7 * i, rows), data.target.narrow(0, 7 * i, rows));
    by_hand.sink.enter_batch(batch, i, /*on_step_by_default=*/true);
    steps += by_hand.step->run(batch, i, i + 1 == kBatches, {}).stepped;
    CHECK(by_hand.context.output != nullptr);
    by_hand.step->drop_output();
    CHECK(by_hand.context.output == nullptr);
  }
  CHECK(steps == (kBatches + k - 1) / k);
  CHECK(bit_equal(copies(driven.parameters()), copies(fitted.parameters())));
}
