// The built-in callbacks inside a fit.
#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

levin::RunResult fit(ToyModule& module, std::vector<levin::CallbackEntry> callbacks,
                     const std::function<void(levin::TrainerOptions&)>& change = {}) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 3;
  options.log_every_n_steps = 1;
  options.callbacks = std::move(callbacks);
  if (change) change(options);
  return levin::Trainer(options).fit(module, ToyData(24).loader(4));
}

struct Recorder : levin::Callback {
  void on_train_batch_end(levin::Run& run) override {
    windows.push_back(run.state().accumulate_grad_batches);
    metrics = run.metrics();
  }
  std::vector<int64_t> windows;
  levin::Metrics metrics;
};

}  // namespace

TEST_CASE("the accumulation schedule changes at its epochs") {
  ToyModule module;
  const auto recorder = std::make_shared<Recorder>();
  const levin::GradientAccumulationScheduler schedule({.scheduling = {{1, 3}, {2, 2}}});
  const auto result = fit(module, {schedule, recorder});
  CHECK(recorder->windows == std::vector<int64_t>{1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2});
  CHECK(result.global_step == 6 + 2 + 3);
}

TEST_CASE("the accumulation schedule names what contradicts it") {
  ToyModule module;
  const levin::GradientAccumulationScheduler schedule({.scheduling = {{0, 2}}});
  CHECK(contains(
      error_text<levin::UsageError>([&] { fit(module, {schedule}, [](auto& o) { o.accumulate_grad_batches = 2; }); }),
      "GradientAccumulationScheduler says how many batches to accumulate; leave accumulate_grad_batches at 1"));
  CHECK(contains(error_text<levin::UsageError>([] { levin::GradientAccumulationScheduler({}); }), "missing"));
  CHECK(contains(error_text<levin::UsageError>([] { levin::EpochTable({{0, 0}}); }), "numbers (from 1)"));
}

TEST_CASE("learning rates are logged under PyTorch Lightning's names") {
  ToyModule module;
  module.optimizers_of = [](ToyModule& m) {
    auto parameters = m.parameters();
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.push_back(levin::optim::param_group({parameters[0]}, levin::optim::SGDOptions{.lr = 0.5, .momentum = 0.8}));
    groups.emplace_back(std::vector<torch::Tensor>(parameters.begin() + 1, parameters.end()));
    return levin::OptimizerConfig(levin::optim::SGD(std::move(groups), {.lr = 0.1, .weight_decay = 0.01}),
                                  levin::StepLR({.step_size = 1, .gamma = 0.5}));
  };
  SECTION("by step, with momentum and weight decay") {
    const levin::LearningRateMonitor monitor({.log_momentum = true, .log_weight_decay = true});
    const auto metrics = fit(module, {monitor}).metrics;
    CHECK(metrics.at("lr-SGD/pg1") == Approx(0.125));
    CHECK(metrics.at("lr-SGD/pg2") == Approx(0.025));
    CHECK(metrics.at("lr-SGD/pg1-momentum") == Approx(0.8));
    CHECK(metrics.at("lr-SGD/pg2-weight_decay") == Approx(0.01));
  }
  SECTION("by epoch") {
    const auto metrics = fit(module, {levin::LearningRateMonitor({.logging_interval = "epoch"})}).metrics;
    CHECK(metrics.at("lr-SGD/pg1") == Approx(0.125));
    CHECK(metrics.count("lr-SGD/pg1-momentum") == 0);
  }
}

TEST_CASE("the rate of a group that joins later is logged, and the first group keeps its name") {
  struct Joins : levin::Callback {
    void on_train_epoch_start(levin::Run& run) override {
      if (run.state().epoch == 1)
        levin::optim::add_param_group(*run.optimizers()[0],
                                      levin::optim::param_group({extra}, levin::optim::SGDOptions{.lr = 0.7}));
    }
    torch::Tensor extra = torch::zeros({2}, torch::requires_grad());
  };
  ToyModule module;
  module.optimizers_of = [](ToyModule& m) {
    return levin::OptimizerConfig(levin::optim::SGD(m.parameters(), {.lr = 0.1}));
  };
  const auto metrics = fit(module, {Joins(), levin::LearningRateMonitor()}).metrics;
  CHECK(metrics.at("lr-SGD") == Approx(0.1));
  CHECK(metrics.at("lr-SGD/pg2") == Approx(0.7));
  CHECK(metrics.count("lr-SGD/pg1") == 0);
}

TEST_CASE("a resumed run names the rates as the run before it, in which a group joined late") {
  struct TwoGroups : ToyModule {
    explicit TwoGroups(bool at_once_) : at_once(at_once_) {
      optimizers_of = [this](ToyModule& m) {
        levin::optim::SGD optimizer(m.net->parameters(), {.lr = 0.1});
        if (at_once) levin::optim::add_param_group(optimizer, second());
        return levin::OptimizerConfig(std::move(optimizer));
      };
    }
    void on_train_epoch_start(levin::Run& run) override {
      if (!at_once && run.state().epoch == 1) levin::optim::add_param_group(*run.optimizers()[0], second());
    }
    torch::optim::OptimizerParamGroup second() const {
      return levin::optim::param_group({extra}, levin::optim::SGDOptions{.lr = 0.7});
    }
    bool at_once;
    torch::Tensor extra = register_parameter("extra", torch::zeros({2}));
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.log_every_n_steps = 1;
  options.max_epochs = 2;
  options.callbacks = {levin::LearningRateMonitor()};
  levin::Trainer first(options);
  TwoGroups module(false), again(true);
  first.fit(module, ToyData(24).loader(4));
  first.save_checkpoint(folder / "saved.ckpt");
  options.max_epochs = 3;
  options.callbacks = {levin::LearningRateMonitor()};
  const levin::Metrics metrics =
      levin::Trainer(options).fit(again, ToyData(24).loader(4), {}, (folder / "saved.ckpt").string()).metrics;
  CHECK(metrics.at("lr-SGD") == Approx(0.1));
  CHECK(metrics.at("lr-SGD/pg2") == Approx(0.7));
  CHECK(metrics.count("lr-SGD/pg1") == 0);
}

TEST_CASE("optimizers of one class are numbered") {
  ToyModule module;
  module.optimizers_of = [](ToyModule& m) {
    return levin::OptimizerConfig{torch::optim::SGD(m.parameters(), 0.1), torch::optim::Adam(m.parameters(), 0.2),
                                  torch::optim::SGD(m.parameters(), 0.3)};
  };
  module.automatic_optimization = false;
  const auto metrics = fit(module, {levin::LearningRateMonitor()}).metrics;
  CHECK(metrics.at("lr-SGD") == Approx(0.1));
  CHECK(metrics.at("lr-Adam") == Approx(0.2));
  CHECK(metrics.at("lr-SGD-1") == Approx(0.3));
}

TEST_CASE("a timer ends the run, and resumes from its state") {
  ToyModule module;
  const auto timer = std::make_shared<levin::Timer>(levin::TimerOptions{.duration = 0.0, .verbose = false});
  const auto result = fit(module, {timer});
  CHECK(result.status == "stopped");
  CHECK(result.stop_reason == "Timer: 00:00:00:00 of training are over");
  CHECK(result.global_step == 0);

  levin::Timer resumed({.duration = levin::Duration("00:00:01:00")});
  levin::State state = timer->state_dict();
  state["time_elapsed"]["fit"] = 50.0;
  resumed.load_state_dict(state);
  CHECK(resumed.time_elapsed() == 50);
  CHECK(*resumed.time_remaining() == Approx(10));
}

TEST_CASE("functions become a callback, and only their hooks are called") {
  ToyModule module;
  int64_t epochs = 0;
  std::string failure;
  const levin::LambdaCallback callback({
      .on_train_epoch_end = [&](levin::Run&) { ++epochs; },
      .on_exception = [&](levin::Run&, const std::exception& error) { failure = error.what(); },
  });
  const levin::HookMask hooks = levin::CallbackEntry(callback).hooks;
  CHECK(hooks.has(levin::Hook::on_train_epoch_end));
  CHECK(hooks.has(levin::Hook::on_exception));
  CHECK_FALSE(hooks.has(levin::Hook::on_train_batch_end));
  fit(module, {callback});
  CHECK(epochs == 3);
  CHECK(failure.empty());
}

TEST_CASE("a loss that is not finite is reported once, and TerminateOnNaN ends the run") {
  struct Diverging : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      auto loss = loss_of(batch);
      return run().state().global_step >= 4 ? loss * std::numeric_limits<double>::quiet_NaN() : loss;
    }
  } module;
  std::string printed;
  SECTION("reported") {
    const CapturedStderr captured;
    CHECK(fit(module, {}).global_step == 18);
    printed = captured.text();
    CHECK(occurrences(printed, "the loss was NaN or infinite first in step 5;") == 1);
  }
  SECTION("ended") {
    const CapturedStderr captured;
    CHECK(error_text([&] { fit(module, {levin::TerminateOnNaN()}); }) ==
          "TerminateOnNaN: the loss was NaN or infinite in step 5; the first output that is not finite: mul of [], "
          "after layer net.3 (torch::nn::LinearImpl, weight [1, 8], bias [1]) was given [4, 8]; the run ends here");
  }
  SECTION("ended where memory is filled with NaN before it is set") {
    const CapturedStderr captured;
    const auto deterministic = [](levin::TrainerOptions& options) { options.deterministic = true; };
    CHECK(contains(error_text([&] { fit(module, {levin::TerminateOnNaN()}, deterministic); }),
                   "the first output that is not finite: mul of [], after layer net.3"));
  }
}

TEST_CASE("early stopping sees what the module logs at the end of the train epoch") {
  struct LogsAtEnd : ToyModule {
    void on_train_epoch_end(levin::Run& run) override { log("score", run.state().epoch == 0 ? 1.0 : 2.0); }
  } module;
  const auto result = fit(module, {levin::EarlyStopping({.monitor = "score", .patience = 1})});
  CHECK(result.epochs == 2);
  CHECK(result.stop_reason == "EarlyStopping: score did not improve on 1 in 1 checks");
}

TEST_CASE("the summary is printed before training") {
  ToyModule module;
  std::string printed;
  {
    const CapturedStderr captured;
    fit(module, {}, [](auto& o) { o.enable_model_summary = true; });
    printed = captured.text();
  }
  CHECK(contains(printed, "49 parameters, 49 trainable"));
  CHECK(occurrences(printed, "Sequential") == 1);
}

TEST_CASE("DeviceStatsMonitor logs memory and use of the CPU") {
  ToyModule module;
  const levin::RunResult result = fit(module, {levin::DeviceStatsMonitor({.every_n_steps = 2})});
  const std::string prefix = "DeviceStatsMonitor.on_train_batch_end/";
  CHECK(result.metrics.at(prefix + "resident_bytes") > 1e7);
  CHECK(result.metrics.at(prefix + "resident_bytes.peak") >= result.metrics.at(prefix + "resident_bytes"));
  CHECK(result.metrics.at(prefix + "available_bytes") > 0);
  CHECK(result.metrics.at(prefix + "cpu_percent") >= 0);
  CHECK(result.metrics.count(prefix + "allocated_bytes.current") == 0);
}

TEST_CASE("DeviceStatsMonitor logs nothing about the CPU if its option says no") {
  ToyModule module;
  const levin::RunResult result = fit(module, {levin::DeviceStatsMonitor({.cpu_stats = false, .every_n_steps = 1})});
  for (const auto& [name, value] : result.metrics) CHECK_FALSE(contains(name, "DeviceStatsMonitor"));
}

TEST_CASE("pruning can draw what is left anew, and leaves the rest of the layers alone") {
  struct Watched : levin::Callback {
    void on_train_epoch_end(levin::Run& run) override {
      auto& net = *static_cast<ToyModule&>(run.module()).net;
      weight = net[0]->named_parameters()["weight"].detach().clone();
      bias = net[0]->named_parameters()["bias"].detach().clone();
    }
    torch::Tensor weight, bias;
  };
  torch::manual_seed(4);
  ToyModule module;
  const auto first_weight = module.net[0]->named_parameters()["weight"].detach().clone();
  const auto pruning = std::make_shared<levin::ModelPruning>(levin::ModelPruningOptions{
      .pruning_fn = "l1_unstructured", .parameter_names = {"weight"}, .amount = 0.25, .resample_parameters = true});
  const auto before = std::make_shared<Watched>();
  fit(module, {before, pruning}, [](auto& o) { o.max_epochs = 1; });
  const auto weight = module.net[0]->named_parameters()["weight"].detach(), mask = pruning->mask("net.0.weight");
  CHECK(mask.sum().item<double>() < 32);
  CHECK(torch::equal(weight * (1 - mask), torch::zeros_like(weight)));
  const auto left = mask.to(torch::kBool);
  CHECK(weight.masked_select(left).ne(before->weight.masked_select(left)).all().item<bool>());
  CHECK(weight.masked_select(left).ne(first_weight.masked_select(left)).all().item<bool>());
  CHECK(weight.abs().max().item<double>() <= 0.5);  // LinearImpl draws from [-1, 1] / sqrt(4)
  CHECK(torch::equal(module.net[0]->named_parameters()["bias"], before->bias));
}
