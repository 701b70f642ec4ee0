#include <levin/trainer/options/resolved_options.h>
#include <levin/core/device/gpu_discovery.h>
#include <levin/core/system/error.h>
#include <levin/trainer/launch/environment.h>

#include <algorithm>
#include <utility>

namespace levin {
namespace {

constexpr int64_t kDefaultMaxEpochs = 1000;

bool asks_for_devices(const Devices& devices) { return devices.is_list() || devices.count(/*all=*/1) > 0; }

/// Returns the strategy for options as they were given.
StrategyChoice choose_strategy(const TrainerOptions& given, const VisibleGpus& gpus,
                               const LaunchEnvironment* environment) {
  const bool are_launched = environment != nullptr && environment->world_size > 1;
  const std::string launched =
      are_launched ? c10::str(environment->world_size, " ranks of ", environment->launcher) : "";
  if (const std::optional<std::string> asked = asked_strategy(given))
    return strategy_named(*asked, are_launched                ? launched
                                  : given.distributed_backend ? "as distributed_backend says"
                                                              : "as asked for");
  if (are_launched) return strategy_named("ddp", launched);
  if (const int64_t nodes = asked_nodes(given); nodes > 1) return strategy_named("ddp", c10::str(nodes, " machines"));
  const int of_gpus = given.gpus.count(/*all=*/gpus.count);
  if (given.gpus.is_set() && of_gpus > 1) return strategy_named("dp", c10::str(of_gpus, " gpus on one machine"));
  const int devices = given.devices.count(given.accelerator == Accelerator::Cpu ? 1 : std::max(1, gpus.count));
  if (devices > 1) return strategy_named("ddp", c10::str(devices, " devices"));
  return strategy_named("single_device", "one device");
}

/// Throws the first reason why a run with these options is impossible.
void refuse_impossible(const TrainerOptions& given, const StrategyChoice& strategy, const ResolveFor& how) {
  if (const std::vector<Contradiction> found = contradictions(given, strategy); !found.empty()) {
    if (how.contradictions != nullptr) *how.contradictions = found;
    const Contradiction& first = found.front();
    throw UsageError("trainer.", first.one, " and trainer.", first.other, " contradict each other: ", first.why);
  }
  if (const std::vector<std::string> found = unsupported_values(given); !found.empty()) throw UsageError(found.front());
}

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

void resolve_unset(TrainerOptions& o, const VisibleGpus& gpus) {
  o.accelerator = resolve_accelerator(o.accelerator, gpus);
  o.max_epochs = max_epochs_or_default(o);
  if (!o.logger.is_set()) o.logger = true;
  if (!o.enable_checkpointing) o.enable_checkpointing = true;
}

}  // namespace

ResolvedOptions::ResolvedOptions(TrainerOptions given, StrategyChoice strategy)
    : options_(std::move(given)),
      strategy_(std::move(strategy)),
      devices_option_(options_.gpus.is_set()      ? "trainer.gpus"
                      : options_.devices.is_set() ? "trainer.devices"
                                                  : "trainer.accelerator"),
      names_devices_(options_.gpus.is_set() || options_.devices.is_set()),
      asks_for_devices_(names_devices_ || options_.accelerator != Accelerator::Auto) {
  options_.strategy = strategy_of_name(options_.strategy, strategy_.name);
}

FitLimits ResolvedOptions::whole_fit() const { return tried_out_ ? *tried_out_ : limits_of(options_); }

ResolvedOptions ResolvedOptions::with_callbacks(const std::vector<CallbackEntry>& more) const {
  ResolvedOptions changed = *this;
  changed.options_.callbacks.insert(changed.options_.callbacks.end(), more.begin(), more.end());
  return changed;
}

ResolvedOptions ResolvedOptions::for_trial(const std::vector<CallbackEntry>& callbacks,
                                           const std::function<void(TrainerOptions&)>& change) const {
  ResolvedOptions trial = *this;
  TrainerOptions& o = trial.options_;
  o.logger = false;
  o.callbacks = callbacks;
  o.enable_checkpointing = o.enable_progress_bar = o.enable_model_summary = false;
  o.max_time = {};
  o.min_epochs = o.min_steps = {};
  o.log_every_n_steps = 0;
  o.num_sanity_val_steps = 0;
  o.auto_lr_find = false;
  o.auto_scale_batch_size = {};
  o.scale_lr = {};
  o.profiler = {};
  change(o);
  return trial;
}

ResolvedOptions resolve(TrainerOptions given, const ResolveFor& how) {
  const VisibleGpus& gpus = how.gpus != nullptr ? *how.gpus : visible_gpus();
  schema_of<TrainerOptions>().check(&given, "trainer");
  StrategyChoice strategy = choose_strategy(given, gpus, how.environment);
  refuse_impossible(given, strategy, how);
  ResolvedOptions resolved(std::move(given), std::move(strategy));
  TrainerOptions& options = resolved.options_;
  resolve_early_spellings(options);
  resolve_early_precision(options, resolved.warnings_);
  resolve_overfit_batches(options);
  if (options.fast_dev_run) {
    resolved.tried_out_ = limits_of(options);
    resolve_fast_dev_run(options);
  }
  resolve_barebones(options);
  resolve_unset(options, gpus);
  return resolved;
}

void check_options(const TrainerOptions& options) { resolve(options); }

}  // namespace levin
