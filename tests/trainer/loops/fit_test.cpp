// Limits, stops, schedulers, manual optimization, and the errors for incomplete modules.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

/// Runs fit with changed options and returns its result.
levin::RunResult fit(ToyModule& module, const std::function<void(levin::TrainerOptions&)>& change = {},
                     int64_t samples = 40, const levin::data::Loaders& validation = {}) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 2;
  if (change) change(options);
  return levin::Trainer(options).fit(module, ToyData(samples).loader(4), validation);
}

struct StopAt : levin::Callback {
  explicit StopAt(int64_t step_) : step(step_) {}
  void on_train_batch_end(levin::Run& run) override {
    if (run.state().global_step == step) run.request_stop("the test asked");
  }
  int64_t step;
};

}  // namespace

TEST_CASE("limits end a run at their number") {
  ToyModule module;
  SECTION("epochs") {
    const auto result = fit(module);
    CHECK(result.status == "completed");
    CHECK(result.epochs == 2);
    CHECK(result.global_step == 20);
  }
  SECTION("steps, in the middle of an epoch") {
    const auto result = fit(module, [](auto& o) { o.max_epochs = -1, o.max_steps = 13; });
    CHECK(result.global_step == 13);
    CHECK(result.status == "completed");
  }
  SECTION("batches of an epoch, counted and as a fraction") {
    CHECK(fit(module, [](auto& o) { o.limit_train_batches = 3; }).global_step == 6);
    CHECK(fit(module, [](auto& o) { o.limit_train_batches = 0.25; }).global_step == 4);
    CHECK(fit(module, [](auto& o) { o.limit_train_batches = 0; }).global_step == 0);
  }
  SECTION("time") {
    const auto result = fit(module, [](auto& o) { o.max_epochs = -1, o.max_time = 0.0; });
    CHECK(result.global_step == 1);
    CHECK(result.stop_reason == "max_time was reached");
  }
  SECTION("nothing to do") {
    CHECK(fit(module, [](auto& o) { o.max_epochs = 0; }).global_step == 0);
    CHECK(fit(module, [](auto& o) { o.max_steps = 0; }).global_step == 0);
  }
  SECTION("fast_dev_run leaves no folder") {
    const auto result = fit(module, [](auto& o) { o.fast_dev_run = true; });
    CHECK(result.global_step == 1);
    CHECK(result.folder.empty());
  }
  SECTION("barebones leaves no folder, and log does nothing") {
    const auto result = fit(module, [](auto& o) { o.barebones = true; });
    CHECK(result.global_step == 20);
    CHECK(result.folder.empty());
    CHECK(result.metrics.empty());
  }
}

TEST_CASE("a request to stop waits for the window's end and for min_epochs and min_steps") {
  ToyModule module;
  const auto stop_at = [](int64_t step, auto change) {
    return [=](levin::TrainerOptions& options) {
      options.callbacks = {StopAt(step)};
      change(options);
    };
  };
  const auto result = fit(module, stop_at(3, [](auto&) {}));
  CHECK(result.status == "stopped");
  CHECK(result.stop_reason == "the test asked");
  CHECK(result.global_step == 3);
  CHECK(fit(module, stop_at(3, [](auto& o) { o.min_steps = 7; })).global_step == 7);
  CHECK(fit(module, stop_at(3, [](auto& o) { o.min_epochs = 1; })).global_step == 10);
  CHECK(fit(module, stop_at(1, [](auto& o) { o.accumulate_grad_batches = 3; })).global_step == 1);
}

TEST_CASE("a stop in the middle of a window ends it first") {
  struct StopInWindow : levin::Callback {
    void on_train_batch_end(levin::Run& run) override {
      if (run.batch_idx() == 0) run.request_stop("early");
      batches = run.state().batches_seen;
    }
    int64_t batches = 0;
  };
  const auto stop = std::make_shared<StopInWindow>();
  ToyModule module;
  const auto result = fit(module, [&](auto& o) { o.callbacks = {stop}, o.accumulate_grad_batches = 4; });
  CHECK(stop->batches == 4);
  CHECK(result.global_step == 1);
}

TEST_CASE("schedulers step by epoch or by optimizer step") {
  struct Rates : levin::Callback {
    void on_train_batch_end(levin::Run& run) override {
      rates.push_back(run.optimizers().at(0)->param_groups().at(0).options().get_lr());
    }
    std::vector<double> rates;
  };
  const auto rates_of = [](levin::LRSchedulerConfig config, int64_t accumulate) {
    const auto watch = std::make_shared<Rates>();
    ToyModule module;
    module.optimizers_of = [&](ToyModule& m) {
      return levin::OptimizerConfig(torch::optim::SGD(m.parameters(), torch::optim::SGDOptions(1.0)),
                                    levin::StepLR({.step_size = 1, .gamma = 0.5}, config));
    };
    fit(module,
        [&](auto& o) { o.callbacks = {watch}, o.limit_train_batches = 4, o.accumulate_grad_batches = accumulate; });
    return watch->rates;
  };
  using Rate = std::vector<double>;
  CHECK((rates_of({}, 1) == Rate{1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25}));
  CHECK((rates_of({.interval = "step"}, 2) == Rate{1, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625}));
  CHECK((rates_of({.interval = "step", .frequency = 3}, 1) == Rate{1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25}));
}

TEST_CASE("a OneCycleLR with total_steps auto ends with the run") {
  ToyModule module;
  std::vector<double> rates;
  module.optimizers_of = [](ToyModule& m) {
    return levin::OptimizerConfig(torch::optim::SGD(m.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9)),
                                  levin::OneCycleLR({.max_lr = 1.0}, {.interval = "step"}));
  };
  struct Rates : levin::Callback {
    explicit Rates(std::vector<double>& rates_) : rates(&rates_) {}
    void on_train_batch_start(levin::Run& run) override {
      rates->push_back(run.optimizers().at(0)->param_groups().at(0).options().get_lr());
    }
    std::vector<double>* rates;
  };
  fit(module, [&](auto& o) { o.callbacks = {Rates(rates)}; });
  REQUIRE(rates.size() == 20);
  CHECK(rates.front() == Approx(1.0 / 25));
  CHECK(rates.back() == Approx(1.0 / 25 / 1e4));
}

TEST_CASE("manual optimization goes through the same step") {
  struct Alternating : ToyModule {
    Alternating() { automatic_optimization = false; }
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      auto loss = loss_of(batch);
      levin::LightningOptimizer used = optimizer(static_cast<size_t>(batch_idx % 2));
      used.zero_grad();
      manual_backward(loss);
      used.clip_gradients(0.5);
      if (batch_idx % 4 != 3) used.step();
      return {};
    }
    void on_before_optimizer_step(levin::Run&, torch::optim::Optimizer&) override { ++before_step; }
    void on_after_backward(levin::Run&) override { ++after_backward; }
    int before_step = 0, after_backward = 0;
  };
  Alternating module;
  module.optimizers_of = [](ToyModule& m) {
    return levin::OptimizerConfig{torch::optim::SGD(m.parameters(), torch::optim::SGDOptions(0.1)),
                                  torch::optim::Adam(m.parameters(), torch::optim::AdamOptions(0.1))};
  };
  const auto result = fit(module, [](auto& o) { o.max_epochs = 1, o.limit_train_batches = 8; });
  CHECK(result.global_step == 6);
  CHECK(module.before_step == 6);
  CHECK(module.after_backward == 8);
  CHECK(contains(error_text<levin::UsageError>([&] { fit(module, [](auto& o) { o.gradient_clip_val = 1.0; }); }),
                 "manual optimization clips itself"));
  CHECK(contains(error_text<levin::UsageError>([&] { fit(module, [](auto& o) { o.accumulate_grad_batches = 2; }); }),
                 "manual optimization accumulates itself"));
}

TEST_CASE("a module without an optimizer runs and changes nothing") {
  ToyModule module;
  module.optimizers_of = [](ToyModule&) { return levin::OptimizerConfig(); };
  const auto before = copies(module.parameters());
  const auto result = fit(module);
  CHECK(result.global_step == 0);
  CHECK(result.metrics.count("train_loss") == 1);
  CHECK(bit_equal(before, copies(module.parameters())));
}

TEST_CASE("the error for an incomplete module names what is missing") {
  SECTION("configure_optimizers") {
    struct Bare : levin::LightningModule {
      levin::StepOutput training_step(const levin::Batch&, int64_t) override { return {}; }
    };
    Bare module;
    const TemporaryFolder folder;
    levin::Trainer trainer(quiet(folder));
    CHECK(contains(error_text<levin::UsageError>([&] { trainer.fit(module, ToyData(4).loader(2)); }),
                   "the module does not override configure_optimizers()"));
  }
  SECTION("training_step") {
    struct Bare : levin::LightningModule {
      levin::OptimizerConfig configure_optimizers() override { return {}; }
    };
    Bare module;
    const TemporaryFolder folder;
    levin::Trainer trainer(quiet(folder));
    CHECK(contains(error_text<levin::UsageError>([&] { trainer.fit(module, ToyData(4).loader(2)); }),
                   "the module does not override training_step(batch, batch_idx)"));
    CHECK(contains(error_text<levin::UsageError>([&] { trainer.fit(module); }), "there is no training loader"));
    CHECK(contains(error_text<levin::UsageError>([&] { trainer.validate(module, ToyData(4).loader(2)); }),
                   "validate: there is nothing to do"));
  }
  SECTION("a loss with a gradient and one element") {
    struct Detached : ToyModule {
      levin::StepOutput training_step(const levin::Batch& batch, int64_t) override { return loss_of(batch).detach(); }
    };
    struct Vector : ToyModule {
      levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
        return net->forward(batch.input());
      }
    };
    Detached detached;
    CHECK(contains(error_text<levin::UsageError>([&] { fit(detached); }), "the loss has no gradient"));
    struct Counting : ToyModule {
      levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
        return (net->forward(batch.input()) > batch.target()).sum();
      }
    };
    Counting counting;
    CHECK(contains(error_text<levin::UsageError>([&] { fit(counting); }), "the loss is a whole number (Long)"));
    struct Backward : ToyModule {
      levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
        const torch::Tensor loss = loss_of(batch);
        loss.backward();
        return loss;
      }
    };
    Backward itself;
    const std::string twice = error_text<levin::UsageError>([&] { fit(itself); });
    CHECK(contains(twice,
                   "return the loss instead, and the trainer calls backward, or set automatic_optimization = false"));
    CHECK_FALSE(contains(twice, "retain_graph"));
    Vector vector;
    CHECK(contains(error_text<levin::UsageError>([&] { fit(vector); }),
                   "expected a loss with one element, got shape [4, 1]"));
  }
  SECTION("one optimizer under automatic optimization") {
    ToyModule module;
    module.optimizers_of = [](ToyModule& m) {
      return levin::OptimizerConfig{torch::optim::SGD(m.parameters(), 0.1), torch::optim::SGD(m.parameters(), 0.1)};
    };
    CHECK(contains(error_text<levin::UsageError>([&] { fit(module); }), "configure_optimizers returned 2 optimizers"));
  }
  SECTION("an optimizer_step that runs the closure") {
    struct Forgetful : ToyModule {
      void optimizer_step(levin::LightningOptimizer& optimizer, const levin::Closure&) override { optimizer.step(); }
    };
    Forgetful module;
    CHECK(contains(error_text<levin::UsageError>([&] { fit(module); }), "optimizer_step did not run the closure"));
  }
  SECTION("a run to log to") {
    ToyModule module;
    CHECK(contains(error_text<levin::UsageError>([&] { module.log("x", 1.0); }), "log was called outside a run"));
    CHECK(contains(error_text<levin::UsageError>([&] { module.optimizer(); }), "outside a run"));
  }
}

TEST_CASE("hooks see the batch and a loss without a graph") {
  struct Watch : levin::Callback {
    void on_train_batch_end(levin::Run& run) override {
      CHECK(run.batch().size() == 4);
      CHECK(run.output().loss.isfinite().item<bool>());
      CHECK_FALSE(run.output().loss.requires_grad());
      CHECK(run.num_batches() == 10);
      CHECK(run.max_epochs() == 2);
    }
    void on_train_epoch_end(levin::Run& run) override { CHECK_THROWS_AS(run.batch(), levin::Error); }
  };
  ToyModule module;
  fit(module, [](auto& o) { o.callbacks = {Watch()}; });
}

TEST_CASE("an exception calls on_exception, keeps the logs and frees the module") {
  struct Throwing : levin::Callback {
    void on_train_batch_end(levin::Run& run) override {
      if (run.state().global_step == 3) throw std::runtime_error("the callback failed");
    }
    void on_exception(levin::Run& run, const std::exception& error) override {
      seen = error.what();
      CHECK_THROWS_AS(run.batch(), levin::Error);
      CHECK_THROWS_AS(run.output(), levin::Error);
    }
    std::string seen;
  };
  const auto throwing = std::make_shared<Throwing>();
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.log_every_n_steps = 1;
  options.callbacks = {throwing};
  ToyModule module;
  levin::Trainer trainer(options);
  CHECK_THROWS_WITH(trainer.fit(module, ToyData(40).loader(4)), "the callback failed");
  CHECK(throwing->seen == "the callback failed");
  CHECK_FALSE(module.in_run());
  const auto run_folder = folder / "levin_logs/version_0";
  CHECK(std::filesystem::exists(run_folder / "metrics.csv"));
  CHECK(std::filesystem::exists(run_folder / "summary.json"));
  CHECK_FALSE(std::filesystem::exists(run_folder / "weights.pt"));
}

TEST_CASE("a module made by make_module makes another") {
  const auto module = levin::make_module<ToyModule>(0.25);
  REQUIRE(levin::ModuleAccess::factory(*module));
  const auto another = levin::ModuleAccess::factory(*module)();
  CHECK(another->parameters().size() == module->parameters().size());
  CHECK(levin::ModuleAccess::factory(*another));
  REQUIRE(levin::ModuleAccess::known_overrides(*module));
  CHECK(levin::ModuleAccess::known_overrides(*module)->has(levin::ModuleMethod::training_step));
  CHECK_FALSE(levin::ModuleAccess::known_overrides(*module)->has(levin::ModuleMethod::validation_step));
}

TEST_CASE("the seed of the options is the run's alone") {
  const auto train = [] {
    torch::manual_seed(1);
    ToyModule module(0.5);
    torch::manual_seed(99);
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.max_epochs = 1;
    options.seed = 5;
    levin::Trainer(options).fit(module, ToyData(40).loader(4));
    return std::pair(copies(module.parameters()), torch::rand({2}));
  };
  const auto [first, after_first] = train();
  const auto [second, after_second] = train();
  CHECK(bit_equal(first, second));
  CHECK(torch::equal(after_first, after_second));
}

TEST_CASE("fit takes modules and data modules by pointer as well, and keeps what a shared_ptr holds") {
  const TemporaryFolder folder;
  struct Points : levin::data::DataModule {
    levin::data::Loaders train_dataloader() override { return ToyData(8).loader(4); }
  };
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 2;
  levin::Trainer trainer(options);
  std::weak_ptr<ToyModule> watched;
  {
    const auto module = std::make_shared<ToyModule>();
    watched = module;
    CHECK(trainer.fit(module, std::make_shared<Points>()).global_step == 4);
  }
  REQUIRE(!watched.expired());  // a save after the fit needs the module
  trainer.save_checkpoint(folder / "after.ckpt");
  CHECK(std::filesystem::exists(folder / "after.ckpt"));
  const std::shared_ptr<ToyModule> none;
  CHECK_THROWS_WITH(trainer.fit(none, ToyData(8).loader(4)), "a module was expected, this is a null pointer");
}

TEST_CASE("configure_model builds a module's parts once, whatever is done with it") {
  struct Building : ToyModule {
    void configure_model() override {
      calls += 1;
      CHECK(in_run());
      CHECK(device() == torch::kCPU);
      head = register_module("head", torch::nn::Linear(1, 1));
    }
    torch::Tensor loss_of(const levin::Batch& batch) {
      return torch::mse_loss(head(net->forward(batch.input())), batch.target());
    }
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override { return loss_of(batch); }
    void test_step(const levin::Batch& batch, int64_t) override { log("test_loss", loss_of(batch)); }
    torch::nn::Linear head = nullptr;
    int calls = 0;
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  const ToyData data(8);
  Building module;
  levin::Trainer trainer(options);
  trainer.fit(module, data.loader(4));
  const torch::Tensor trained = module.head->weight.detach().clone();
  CHECK(trainer.test(module, data.loader(4)).at(0).count("test_loss") == 1);
  CHECK(torch::equal(module.head->weight, trained));
  trainer.fit(module, data.loader(4));
  CHECK(module.children().size() == 2);
  CHECK(module.calls == 1);

  Building tested_first;  // another trainer, and no fit before
  CHECK(levin::Trainer(options).test(tested_first, data.loader(4)).at(0).count("test_loss") == 1);
  trainer.fit(tested_first, data.loader(4));
  CHECK(tested_first.calls == 1);
  CHECK(tested_first.head->weight.device() == torch::kCPU);
}

TEST_CASE("each on_exception hook is called and each logger closed, even if another throws") {
  struct Throws : levin::Callback {
    void on_exception(levin::Run&, const std::exception&) override { throw std::runtime_error("the first hook"); }
  };
  struct Counts : levin::Callback {
    explicit Counts(int& calls_) : calls(&calls_) {}
    void on_train_batch_end(levin::Run&) override { throw std::runtime_error("the step's end"); }
    void on_exception(levin::Run&, const std::exception&) override { *calls += 1; }
    int* calls;
  };
  int calls = 0;
  ToyModule module;
  CHECK_THROWS_WITH(fit(module, [&](auto& o) { o.callbacks = {Throws(), Counts(calls)}; }), "the step's end");
  CHECK(calls == 1);
}
