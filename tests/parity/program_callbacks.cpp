// Callbacks of program_trainer: what tests and benchmarks want to know of a run.
#include <levin/callbacks/callback.h>
#include <levin/callbacks/registry.h>
#include <levin/core/options/option.h>
#include <levin/core/ranks/comm.h>
#include <levin/core/state/state_file.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/ema.h>
#include <levin/modules/weights.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace {

/// Averages the parameters, and writes what each rank ends with to <folder>/rank<N>.pt: `weights` and `averages`.
class Averages : public levin::Callback {
 public:
  struct Options {
    double decay = LEVIN_OPTION(decay, 0.9, "Weight of the old average", {.min = 0, .max = 1});
    std::string folder = LEVIN_OPTION(folder, "", "Folder of the files that ranks write; empty: none");
  };
  explicit Averages(Options options) : options_(std::move(options)) {}

  void on_fit_start(levin::Run& run) override { averages(run); }
  void on_train_batch_end(levin::Run& run) override {
    if (run.state().window.position == 0) averages(run).update();
  }
  void on_fit_end(levin::Run& run) override {
    if (options_.folder.empty()) return;
    const auto file = std::filesystem::path(options_.folder) / ("rank" + std::to_string(run.comm().rank()) + ".pt");
    levin::save_state(levin::State::dict({{"weights", levin::module_state_dict(run.module())},
                                          {"averages", averages(run).state_dict()}}),
                      file);
  }
  levin::State state_dict() const override { return ema_ ? ema_->state_dict() : loaded_; }
  void load_state_dict(const levin::State& state) override {
    loaded_ = state;
    if (ema_) ema_->load_state_dict(state);
  }

 private:
  levin::optim::EMA& averages(levin::Run& run) {
    if (ema_) return *ema_;
    ema_.emplace(run.module(), levin::optim::EMAOptions{.decay = options_.decay});
    if (!loaded_.is_none()) ema_->load_state_dict(loaded_);
    return *ema_;
  }

  Options options_;
  std::optional<levin::optim::EMA> ema_ = {};
  levin::State loaded_ = {};
};

/// Writes the processor's seconds of a step, on average after the first ones, to a file.
class StepClock : public levin::Callback {
 public:
  struct Options {
    int64_t first = LEVIN_OPTION(first, 20, "Steps before the clock starts", {.min = 1});
    std::string file = LEVIN_OPTION(file, "", "File that gets the number");
  };
  explicit StepClock(Options options) : options_(std::move(options)) {}

  void on_train_batch_end(levin::Run& run) override {
    if (run.state().global_step == options_.first) begin_ = std::clock();
    end_ = std::clock();
    steps_ = run.state().global_step - options_.first;
  }
  void on_fit_end(levin::Run&) override {
    std::ofstream(options_.file) << static_cast<double>(end_ - begin_) / CLOCKS_PER_SEC / static_cast<double>(steps_);
  }

 private:
  Options options_;
  std::clock_t begin_ = 0, end_ = 0;
  int64_t steps_ = 0;
};

LEVIN_REGISTER_CALLBACK(Averages);
LEVIN_REGISTER_CALLBACK(StepClock);

}  // namespace
