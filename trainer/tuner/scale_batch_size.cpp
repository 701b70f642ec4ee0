#include <levin/trainer/tuner/scale_batch_size.h>
#include <c10/util/StringUtil.h>
#include <levin/core/device/out_of_memory.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/memory_use.h>
#include <levin/trainer/trainer_impl.h>
#include <levin/trainer/tuner/cpu_memory_limit.h>
#include <levin/trainer/tuner/trials.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <memory>
#include <sstream>

namespace levin {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// Counts the steps of one trial and measures the memory of its tensors.
class SizeProbe : public TrialCallback {
 public:
  SizeProbe(const BatchSizeOptions& options, BatchSizeTrial& trial) : options_(options), trial_(trial) {}

 protected:
  void begin(Run& run) override {
    const c10::Device device = run.device();
    if (device.is_cpu()) {
      const int64_t available = host_memory().available;
      limit_ = options_.memory_limit_bytes.value_or(available > 0 ? without_margin(available) : kUnlimited);
      watch_.emplace(limit_);
      return;
    }
    reset_peak_memory(device);
    const DeviceMemory memory = device_memory(device).value_or(DeviceMemory());
    before_ = memory.allocated;
    const int64_t available = memory.free + memory.reserved - memory.allocated;
    limit_ = options_.memory_limit_bytes.value_or(available > 0 ? without_margin(available) : kUnlimited);
  }

  void step_done(Run& run) override {
    trial_.samples = std::max(trial_.samples, run.batch().size());
    trial_.batches = run.num_batches().value_or(0);
    if (++steps_ >= options_.steps_per_trial) run.request_stop("the trial is over");
  }

  void end(Run& run) override {
    if (watch_) trial_.peak_bytes = watch_->peak();
    watch_.reset();
    if (const auto memory = device_memory(run.device())) trial_.peak_bytes = memory->allocated_peak - before_;
    trial_.fits = trial_.peak_bytes <= limit_;
    if (!trial_.fits) trial_.reason = c10::str("tensors took ", trial_.peak_bytes, " bytes, and the limit is ", limit_);
  }

 private:
  int64_t without_margin(int64_t bytes) const {
    return static_cast<int64_t>(static_cast<double>(bytes) * (1 - options_.margin));
  }

  const BatchSizeOptions& options_;
  BatchSizeTrial& trial_;
  std::optional<CpuMemoryLimit> watch_ = {};
  int64_t limit_ = kUnlimited, before_ = 0, steps_ = 0;
};

/// Sets the options of a trial so that it needs as much memory as the fit: whole epochs, and a validation batch first.
void change_options(TrainerOptions& options) {
  options.limit_train_batches = 1.0;
  options.overfit_batches = 0.0;
  options.auto_microbatch = false;
  if (!options.limit_val_batches.is_none()) options.limit_val_batches = 1;
  options.num_sanity_val_steps = 1;
  options.val_check_interval = 1.0;
  options.check_val_every_n_epoch = 1;
}

std::string mebibytes(int64_t bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / (1 << 20) << " MiB";
  return text.str();
}

BatchSizeTrial try_size(Trials& trials, const BatchSizeOptions& options, int64_t size) {
  BatchSizeTrial trial{.batch_size = size};
  try {
    trials.run(std::make_shared<SizeProbe>(options, trial), change_options);
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    trial.fits = false;
    const std::string text = error.what();
    trial.reason = text.substr(0, text.find('\n'));
  }
  console::info(c10::str("batch size ", size, trial.fits ? " fits: tensors took " : " does not fit: ",
                         trial.fits ? mebibytes(trial.peak_bytes) : trial.reason));
  return trial;
}

/// Sets the batch size of the data, and restores the old size if the search throws.
class SizeSetter {
 public:
  SizeSetter(const std::optional<data::DataModuleRef>& data, const BatchSizeOptions& options)
      : module_(data ? data->module : nullptr), given_(options.set_batch_size) {
    if (module_ != nullptr) before_ = module_->batch_size();
    if (!given_ && !before_)
      throw UsageError("scale_batch_size: the ", module_ ? "data module" : "module's own loaders",
                       " cannot change the batch size; ",
                       module_ ? "override batch_size() and set_batch_size(), or give " : "give ",
                       "BatchSizeOptions::set_batch_size");
  }
  SizeSetter(const SizeSetter&) = delete;
  SizeSetter& operator=(const SizeSetter&) = delete;
  ~SizeSetter() {
    if (found_ || !before_) return;
    try {
      set(*before_);
    } catch (const std::exception& error) {
      console::warn(c10::str("the batch size before, ", *before_, ", could not be put back: ", error.what()));
    }
  }
  void set(int64_t size) { given_ ? given_(size) : module_->set_batch_size(size); }
  void keep(int64_t size) {
    set(size);
    found_ = true;
  }
  std::optional<int64_t> before() const { return before_; }

 private:
  data::DataModule* module_;
  std::function<void(int64_t)> given_;
  std::optional<int64_t> before_ = {};
  bool found_ = false;
};

BatchSizeResult find_batch_size(Trainer& trainer, ModuleRef module, const std::optional<data::DataModuleRef>& data,
                                const BatchSizeOptions& options) {
  schema_of<BatchSizeOptions>().check(&options, "scale_batch_size");
  SizeSetter setter(data, options);
  Trials trials(trainer, module, data, {});
  const bool bisect = options.mode == BatchSizeMode::Binsearch;
  BatchSizeResult result{.batch_size_before = setter.before()};
  const BatchSizeSearch search{.bisect = bisect,
                               .init_val = options.init_val,
                               .max_trials = options.max_trials,
                               .max_val = options.max_val,
                               .min_batches = options.min_batches};
  result.trials = search_batch_size(search, [&](int64_t size) {
    setter.set(size);
    return try_size(trials, options, size);
  });
  result.batch_size = largest_fit(search, result.trials);
  const bool met_limit =
      std::any_of(result.trials.begin(), result.trials.end(), [](const BatchSizeTrial& trial) { return !trial.fits; });
  if (bisect && met_limit)
    result.batch_size =
        std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(result.batch_size) * (1 - options.margin)));
  const BatchSizeTrial& last = result.trials.back();
  const bool by_data = last.fits && last.batches > 0 && last.batches <= options.min_batches;
  if (by_data && last.batches == 1 && result.batch_size >= last.samples)
    console::warn(c10::str("the whole training set, ", last.samples,
                           " samples, fits into one batch, and each epoch would be a single step; set a smaller batch "
                           "size, or a limit of the search (BatchSizeOptions::min_batches or max_val)"));
  setter.keep(result.batch_size);
  console::info(c10::str("batch size ", result.batch_size, " found in ", result.trials.size(), " trials",
                         by_data && options.min_batches > 1
                             ? c10::str("; memory is no limit, but a larger one would leave fewer than ",
                                        options.min_batches, " batches in an epoch")
                             : std::string()));
  TuningOutcome& tuned = Trainer::Impl::of(trainer).tuned;
  tuned.batch_size = true;
  return result;
}

}  // namespace

BatchSizeResult scale_batch_size(Trainer& trainer, ModuleRef module, data::DataModuleRef data,
                                 const BatchSizeOptions& options) {
  return find_batch_size(trainer, module, data, options);
}
BatchSizeResult scale_batch_size(Trainer& trainer, ModuleRef module, const BatchSizeOptions& options) {
  return find_batch_size(trainer, module, {}, options);
}

}  // namespace levin
