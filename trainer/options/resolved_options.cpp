#include <levin/trainer/options/resolved_options.h>
#include <levin/core/device/gpu_discovery.h>

namespace levin {
namespace {

constexpr int64_t kDefaultMaxEpochs = 1000;

bool asks_for_devices(const Devices& devices) { return devices.is_list() || devices.count(/*all=*/1) > 0; }

void resolve_early_spellings(TrainerOptions& o) {
  if (o.gpus.is_set()) {
    o.accelerator = asks_for_devices(o.gpus) ? Accelerator::Gpu : Accelerator::Cpu;
    if (asks_for_devices(o.gpus)) o.devices = o.gpus;
  }
  if (o.nb_gpu_nodes) o.num_nodes = *o.nb_gpu_nodes;
  o.distributed_backend = {};
  if (o.replace_sampler_ddp) o.use_distributed_sampler = *o.replace_sampler_ddp;
  o.gpus = {};
  o.nb_gpu_nodes = {};
  o.replace_sampler_ddp = {};
}

/// Turns use_amp and amp_level into a precision. O2 has no precision name, so amp_level keeps it beside 16-mixed.
void resolve_early_precision(TrainerOptions& o, std::vector<std::string>& warnings) {
  if (o.use_amp.value_or(false)) o.precision = 16;
  const std::optional<Choice<AmpLevel>> level = std::exchange(o.amp_level, {});
  o.use_amp = {};
  if (!level) return;
  if (o.precision == Precision()) {
    warnings.push_back("trainer.amp_level: " + level->word() +
                       " has no effect without use_amp; the run is in 32 bit (precision=16 makes it 16 bit)");
    return;
  }
  if (*level == AmpLevel::O0) o.precision = 32;
  if (*level == AmpLevel::O2) o.amp_level = level;
  if (*level == AmpLevel::O3) o.precision = "16-true";
}

void resolve_overfit_batches(TrainerOptions& o) {
  if (!o.overfit_batches.is_none()) o.limit_train_batches = o.limit_val_batches = o.overfit_batches;
}

std::optional<int64_t> max_epochs_or_default(const TrainerOptions& o) {
  return o.max_epochs ? o.max_epochs : o.max_steps >= 0 || o.max_time ? -1 : kDefaultMaxEpochs;
}

FitLimits limits_of(const TrainerOptions& o) {
  const auto limit = [](int64_t count) { return count < 0 ? std::nullopt : std::optional(count); };
  return {
      .epochs = limit(*max_epochs_or_default(o)), .steps = limit(o.max_steps), .train_batches = o.limit_train_batches};
}

void resolve_fast_dev_run(TrainerOptions& o) {
  const int64_t batches = o.fast_dev_run.batches();
  o.logger = false;
  o.enable_checkpointing = false;
  o.max_epochs = 1;
  o.min_epochs = {};
  o.max_steps = batches;
  o.min_steps = {};
  o.num_sanity_val_steps = 0;
  o.val_check_interval = 1.0;
  o.check_val_every_n_epoch = 1;
  o.limit_train_batches = o.limit_val_batches = o.limit_test_batches = o.limit_predict_batches = batches;
}

void resolve_barebones(TrainerOptions& o) {
  if (!o.barebones) return;
  o.logger = false;
  o.enable_checkpointing = o.enable_progress_bar = o.enable_model_summary = false;
  o.num_sanity_val_steps = 0;
  o.log_every_n_steps = 0;
}

void resolve_unset(TrainerOptions& o) {
  o.accelerator = resolve_accelerator(o.accelerator, visible_gpus());
  o.max_epochs = max_epochs_or_default(o);
  if (!o.logger.is_set()) o.logger = true;
  if (!o.enable_checkpointing) o.enable_checkpointing = true;
}

}  // namespace

FitLimits ResolvedOptions::whole_fit() const { return tried_out_ ? *tried_out_ : limits_of(*this); }

ResolvedOptions resolve(TrainerOptions given) {
  check_options(given);
  ResolvedOptions options(std::move(given));
  options.strategy = strategy_of_name(options.strategy, choose_strategy(options).name);
  resolve_early_spellings(options);
  resolve_early_precision(options, options.warnings_);
  resolve_overfit_batches(options);
  if (options.fast_dev_run) {
    options.tried_out_ = limits_of(options);
    resolve_fast_dev_run(options);
  }
  resolve_barebones(options);
  resolve_unset(options);
  return options;
}

}  // namespace levin
