// Schedulers that follow a metric, inside fit.
#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

/// Logs the losses given, one for each epoch, as val_loss.
struct Scripted : ToyModule {
  Scripted(std::vector<double> losses_, levin::LRSchedulerConfig config) : losses(std::move(losses_)) {
    optimizers_of = [config](ToyModule& module) {
      return levin::OptimizerConfig(torch::optim::SGD(module.parameters(), torch::optim::SGDOptions(1.0)),
                                    levin::ReduceLROnPlateau({.factor = 0.5, .patience = 0}, config));
    };
  }
  void on_train_epoch_start(levin::Run& run) override {
    epoch = static_cast<size_t>(run.state().epoch);
    rates.push_back(run.optimizers().at(0)->param_groups().at(0).options().get_lr());
  }
  void validation_step(const levin::Batch&, int64_t) override { log("val_loss", losses.at(epoch)); }

  std::vector<double> losses, rates = {};
  size_t epoch = 0;
};

void fit_scripted(Scripted& module, int64_t validation_every = 1) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = static_cast<int64_t>(module.losses.size());
  options.check_val_every_n_epoch = validation_every;
  const ToyData data(8);
  levin::Trainer(options).fit(module, data.loader(4), data.loader(4));
}

}  // namespace

TEST_CASE("ReduceLROnPlateau follows the validation's loss") {
  Scripted module({1, 1, 2, 0.5, 0.6, 0.1}, {});
  fit_scripted(module);
  CHECK((module.rates == std::vector<double>{1, 1, 0.5, 0.25, 0.25, 0.125}));
}

TEST_CASE("a monitor that is not logged is an error, or without strict a warning") {
  Scripted strict({1, 1, 1}, {.monitor = "val_acc"});
  const std::string text = error_text<levin::UsageError>([&] { fit_scripted(strict); });
  CHECK(contains(text, "lr_scheduler.monitor: no metric 'val_acc' was logged; there are: "));
  CHECK(contains(text, "val_loss"));
  CHECK(contains(text, "with lr_scheduler.strict = false the step is skipped"));

  Scripted lenient({1, 1, 1}, {.monitor = "val_acc", .strict = false});
  const CapturedStderr captured;
  fit_scripted(lenient);
  CHECK(occurrences(captured.text(), "no metric 'val_acc' was logged") == 1);
  CHECK((lenient.rates == std::vector<double>{1, 1, 1}));
}

TEST_CASE(
    "a monitor that never came, since no validation did, is told at the end, with the callbacks that wait for it") {
  Scripted module({1, 1}, {});
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_steps = 1;
  options.callbacks = {levin::EarlyStopping({.monitor = "val_loss", .check_on_train_epoch_end = false}),
                       levin::ModelCheckpoint({.monitor = "val_loss", .save_on_train_epoch_end = false})};
  const ToyData data(8);
  const CapturedStderr captured;
  levin::Trainer(options).fit(module, data.loader(4), data.loader(4));
  for (const char* what : {"lr_scheduler.monitor", "EarlyStopping.monitor", "ModelCheckpoint.monitor"}) {
    INFO(what);
    CHECK(occurrences(captured.text(), std::string(what) + ": no metric 'val_loss' was logged") == 1);
  }
}

TEST_CASE("a validation's metric counts once, however rare validations are") {
  // Validations after epochs 2, 4 and 6 give 1, 1 and 1: with patience 0 the rate halves at the second and the third.
  for (const char* interval : {"epoch", "step"}) {
    Scripted module({9, 1, 9, 1, 9, 1, 9, 1}, {.interval = interval});
    fit_scripted(module, 2);
    CHECK((module.rates == std::vector<double>{1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25}));
  }
}

TEST_CASE("a run that resumes between two validations does not count the last one again") {
  struct Keeping : Scripted {
    using Scripted::Scripted;
    void on_train_epoch_end(levin::Run& run) override {
      if (run.state().epoch == 4) run.save_checkpoint(file);
    }
    std::filesystem::path file = {};
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 8;
  options.check_val_every_n_epoch = 2;
  const ToyData data(8);
  const std::vector<double> losses = {9, 1, 9, 1, 9, 1, 9, 1};
  Keeping unbroken(losses, {}), resumed(losses, {});
  unbroken.file = resumed.file = folder / "fifth.ckpt";
  levin::Trainer(options).fit(unbroken, data.loader(4), data.loader(4));
  levin::Trainer(options).fit(resumed, data.loader(4), data.loader(4), unbroken.file.string());
  CHECK((resumed.rates == std::vector<double>(unbroken.rates.begin() + 5, unbroken.rates.end())));
  CHECK((resumed.rates == std::vector<double>{0.5, 0.25, 0.25}));
}

TEST_CASE("a strict scheduler waits for the first validation") {
  Scripted module({1, 1, 1, 1}, {});
  CHECK_NOTHROW(fit_scripted(module, 3));
  Scripted wrong({1, 1, 1, 1}, {.monitor = "val_acc"});
  CHECK(contains(error_text<levin::UsageError>([&] { fit_scripted(wrong, 3); }), "no metric 'val_acc' was logged"));
}

TEST_CASE("under manual optimization the module alone steps its schedulers") {
  struct Manual : ToyModule {
    Manual() {
      automatic_optimization = false;
      optimizers_of = [](ToyModule& module) {
        const torch::optim::SGDOptions rate(1.0);
        return levin::OptimizerConfig{
            {torch::optim::SGD(module.net[0]->parameters(), rate), levin::ExponentialLR({.gamma = 0.5})},
            {torch::optim::SGD(module.net[3]->parameters(), rate),
             levin::ReduceLROnPlateau({.factor = 0.5, .patience = 0})}};
      };
    }
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      const auto loss = loss_of(batch);
      for (auto& optimizer : optimizers()) optimizer.zero_grad();
      manual_backward(loss);
      for (auto& optimizer : optimizers()) optimizer.step();
      return loss;
    }
    void on_train_epoch_start(levin::Run& run) override {
      for (const auto& optimizer : run.optimizers())
        rates.push_back(optimizer->param_groups().at(0).options().get_lr());
    }
    void on_train_epoch_end(levin::Run&) override {
      lr_schedulers().at(0)->step();
      lr_schedulers().at(1)->step(1.0);
    }
    std::vector<double> rates = {};
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 3;
  const ToyData data(8);
  Manual module;
  levin::Trainer(options).fit(module, data.loader(4));
  CHECK((module.rates == std::vector<double>{1, 1, 0.5, 1, 0.25, 0.5}));
}

TEST_CASE("EarlyStopping decides anew at min_epochs and min_steps") {
  // Not better in epochs 2 and 3, better in 4, then not better in 5 and 6.
  const std::vector<double> losses = {3, 3.5, 3.4, 2, 2.5, 2.4, 2.3, 2.2};
  const auto epochs = [&](const std::function<void(levin::TrainerOptions&)>& change) {
    Scripted module(losses, {.monitor = "unused", .strict = false});
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.max_epochs = 8;
    options.callbacks.push_back(levin::EarlyStopping({.monitor = "val_loss", .patience = 2}));
    change(options);
    const ToyData data(8);
    return levin::Trainer(options).fit(module, data.loader(4), data.loader(4)).epochs;
  };
  CHECK(epochs([](levin::TrainerOptions&) {}) == 3);
  CHECK(epochs([](levin::TrainerOptions& options) { options.min_epochs = 4; }) == 6);
  CHECK(epochs([](levin::TrainerOptions& options) { options.min_steps = 8; }) == 6);
  CHECK(epochs([](levin::TrainerOptions& options) { options.min_epochs = 3; }) == 3);
}
