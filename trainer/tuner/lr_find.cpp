#include <levin/trainer/tuner/lr_find.h>
#include <c10/util/StringUtil.h>
#include <levin/modules/optim/engine/learning_rate.h>
#include <levin/trainer/trainer_impl.h>

#include <levin/core/state/atomic_file.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/trainer/tuner/lr_suggestion.h>
#include <levin/trainer/tuner/trials.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

namespace levin {
namespace {

/// Sets another rate for each optimizer step and records the loss.
class LRSweep : public TrialCallback {
 public:
  explicit LRSweep(const LRFindOptions& options) : options_(options) { found_.mode = options.mode; }
  void on_train_batch_start(Run& run) override {
    lr_ = lr_of(static_cast<double>(found_.lrs.size()));
    optim::set_lr(*run.optimizers().front(), shares_, lr_);
  }
  LRFindResult take() { return std::move(found_); }

 protected:
  void begin(Run& run) override {
    if (run.optimizers().size() != 1)
      throw UsageError("lr_find: configure_optimizers returned ", run.optimizers().size(),
                       " optimizers; a range test works with one");
    shares_ = optim::lr_shares(*run.optimizers().front());
  }

  void step_done(Run& run) override {
    const at::Tensor& loss = run.output().loss;
    const double now = loss.defined() ? loss.item<double>() : kNoLoss;  // host sync on a GPU
    const double smoothed = loss.defined() ? smoothed_.add(now) : kNoLoss;
    found_.lrs.push_back(lr_);
    found_.losses.push_back(smoothed);
    const auto steps = static_cast<int64_t>(found_.lrs.size());
    const bool too_large =
        options_.early_stop_threshold && loss.defined() &&
        (!std::isfinite(smoothed) || (steps > 1 && smoothed > *options_.early_stop_threshold * best_));
    if (steps == 1 || smoothed < best_) best_ = smoothed;
    found_.stopped_early = too_large && steps < options_.num_training;
    if (too_large || steps >= options_.num_training) run.request_stop("the range test is over");
  }

 private:
  static constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();

  /// PyTorch Lightning's schedule: step 0 has min_lr, and step i > 0 the rate of (i + 1) / num_training of the range.
  double lr_of(double step) const {
    if (step == 0) return options_.min_lr;
    const double part = (step + 1) / static_cast<double>(options_.num_training);
    if (options_.mode == LRGrowth::Linear) return options_.min_lr + part * (options_.max_lr - options_.min_lr);
    return options_.min_lr * std::pow(options_.max_lr / options_.min_lr, part);
  }

  const LRFindOptions& options_;
  LRFindResult found_ = {};
  SmoothedLoss smoothed_ = SmoothedLoss();
  std::vector<double> shares_ = {};
  double lr_ = 0, best_ = 0;
};

void check(const LRFindOptions& options) {
  schema_of<LRFindOptions>().check(&options, "lr_find");
  if (options.max_lr <= options.min_lr)
    throw UsageError("lr_find: expected min_lr < max_lr, got ", options.min_lr, " and ", options.max_lr);
  if (options.mode == LRGrowth::Exponential && options.min_lr <= 0)
    throw UsageError("lr_find.min_lr: an exponential range begins above 0; got ", options.min_lr);
  constexpr int64_t kLeast = 2;  // two points have a slope
  if (const int64_t least = options.skip_begin + options.skip_end + kLeast; options.num_training < least)
    throw UsageError("lr_find.num_training: expected at least ", least, ", got ", options.num_training,
                     ": of these steps the first ", options.skip_begin, " and the last ", options.skip_end,
                     " are not suggested; raise num_training or lower skip_begin");
}

void write(LRFindResult& found, const Trainer& trainer, const LRFindOptions& options) {
  const ResolvedOptions& of_trainer = trainer.options();
  if (!options.folder && of_trainer->barebones) return;
  const auto folder = options.folder.value_or(of_trainer.runs_folder()).lexically_normal();
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw UsageError("lr_find: ", folder.string(), ": the folder cannot be made: ", failed.message());
  found.plot = folder / "lr_find.svg";
  write_text_file_atomically(found.plot, found.to_svg());
  write_text_file_atomically(folder / "lr_find.json", found.to_json());
}

LRFindResult find(Trainer& trainer, ModuleRef module, const std::optional<data::DataModuleRef>& data,
                  data::Loaders train, const LRFindOptions& options) {
  check(options);
  Trials trials(trainer, module, data, std::move(train));
  const auto sweep = std::make_shared<LRSweep>(options);
  trials.run(sweep, [](TrainerOptions& of_trial) { of_trial.limit_val_batches = 0; });
  LRFindResult found = sweep->take();
  found.index = steepest_descent(found.lrs, found.losses, options.skip_begin, options.skip_end);
  write(found, trainer, options);
  if (!found.index)
    throw UsageError("lr_find: ", found.lrs.size(), " steps were made, and no rate can be suggested without the first ",
                     options.skip_begin, " and the last ", options.skip_end,
                     "; raise num_training, lower skip_begin, or begin at a smaller min_lr");
  console::info(c10::str("learning rate ", *found.suggestion(), " found in ", found.lrs.size(), " steps from ",
                         options.min_lr, found.stopped_early ? ", ended where the loss grew" : "",
                         found.plot.empty() ? "" : "; plot " + found.plot.string()));
  TuningOutcome& tuned = Trainer::Impl::of(trainer).tuned;
  tuned.lr_found = true;
  tuned.lr = options.update_attr && !options.set_lr ? found.suggestion() : std::nullopt;
  if (options.update_attr && options.set_lr) options.set_lr(*found.suggestion());
  return found;
}

}  // namespace

std::string LRFindResult::to_json() const {
  Json json = {{"suggestion", suggestion() ? Json(*suggestion()) : Json()},
               {"mode", mode.word()},
               {"stopped_early", stopped_early},
               {"lr", lrs},
               {"loss", losses}};
  return json.dump(2) + "\n";
}

LRFindResult lr_find(Trainer& trainer, ModuleRef module, data::DataModuleRef data, const LRFindOptions& options) {
  return find(trainer, module, data, {}, options);
}
LRFindResult lr_find(Trainer& trainer, ModuleRef module, data::Loaders train, const LRFindOptions& options) {
  return find(trainer, module, {}, std::move(train), options);
}

}  // namespace levin
