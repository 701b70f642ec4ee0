// Schedulers that follow a metric, inside fit.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/loops/toy.h"

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

void fit(Scripted& module) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = static_cast<int64_t>(module.losses.size());
  const ToyData data(8);
  levin::Trainer(options).fit(module, data.loader(4), data.loader(4));
}

/// What is written to stderr while it lives.
class CapturedStderr {
 public:
  CapturedStderr() {
    std::fflush(stderr);
    const int file = ::open((folder_ / "stderr").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(file, STDERR_FILENO);
    ::close(file);
  }
  ~CapturedStderr() { restore(); }
  std::string text() {
    restore();
    std::ostringstream text;
    text << std::ifstream(folder_ / "stderr").rdbuf();
    return text.str();
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stderr);
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    saved_ = -1;
  }

  TemporaryFolder folder_;
  int saved_ = ::dup(STDERR_FILENO);
};

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("ReduceLROnPlateau follows the validation's loss") {
  Scripted module({1, 1, 2, 0.5, 0.6, 0.1}, {});
  fit(module);
  CHECK((module.rates == std::vector<double>{1, 1, 0.5, 0.25, 0.25, 0.125}));
}

TEST_CASE("a monitor that nobody logs is an error, or without strict a warning") {
  Scripted strict({1, 1, 1}, {.monitor = "val_acc"});
  const std::string text = error_text<levin::UsageError>([&] { fit(strict); });
  CHECK(contains(text, "lr_scheduler.monitor: no metric 'val_acc' was logged; there are: "));
  CHECK(contains(text, "val_loss"));
  CHECK(contains(text, "with lr_scheduler.strict = false the step is skipped"));

  Scripted lenient({1, 1, 1}, {.monitor = "val_acc", .strict = false});
  CapturedStderr captured;
  fit(lenient);
  CHECK(count(captured.text(), "no metric 'val_acc' was logged") == 1);
  CHECK((lenient.rates == std::vector<double>{1, 1, 1}));
}
