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
  void validation_step(const levin::Batch&, int64_t, int64_t) override { log("val_loss", losses.at(epoch)); }

  std::vector<double> losses, rates = {};
  size_t epoch = 0;
};

void fit_scripted(Scripted& module) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = static_cast<int64_t>(module.losses.size());
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
