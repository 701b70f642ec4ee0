#include <levin/trainer/options/contradictions.h>
#include <c10/util/StringUtil.h>
#include <levin/callbacks/callbacks_of.h>
#include <levin/callbacks/ema_weight_averaging.h>
#include <levin/callbacks/gradient_accumulation_scheduler.h>
#include <levin/callbacks/model_checkpoint.h>
#include <levin/callbacks/on_exception_checkpoint.h>
#include <levin/callbacks/progress_bar.h>
#include <levin/core/device/gpu_discovery.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <utility>

namespace levin {
namespace {

/// Collects the contradictions among the options.
class Check {
 public:
  Check(const TrainerOptions& options, const StrategyChoice& strategy) : o(options), choice(strategy) {}

  void limits() {
    if (o.min_epochs && o.max_epochs && *o.max_epochs >= 0 && *o.min_epochs > *o.max_epochs)
      contradict("min_epochs", "max_epochs", c10::str("at least ", *o.min_epochs, " epochs, at most ", *o.max_epochs));
    if (o.min_steps && o.max_steps >= 0 && *o.min_steps > o.max_steps)
      contradict("min_steps", "max_steps", c10::str("at least ", *o.min_steps, " steps, at most ", o.max_steps));
    if (!o.check_val_every_n_epoch && o.val_check_interval.is_fraction())
      contradict("check_val_every_n_epoch", "val_check_interval",
                 "without epochs to count, val_check_interval must be a number of batches or a time");
    if (o.deterministic && o.benchmark)
      contradict("deterministic", "benchmark", "the fastest algorithm is not always a deterministic one");
    if (o.overfit_batches.is_none()) return;
    const auto with_overfit = [&](const char* option, const BatchLimit& limit) {
      if (limit != BatchLimit() && limit != o.overfit_batches)
        contradict("overfit_batches", option, "both say how many batches there are");
    };
    with_overfit("limit_train_batches", o.limit_train_batches);
    with_overfit("limit_val_batches", o.limit_val_batches);
    if (o.fast_dev_run) contradict("fast_dev_run", "overfit_batches", "both say how many batches there are");
  }

  void devices() {
    if (o.gpus.is_set() && o.devices.is_set()) contradict("gpus", "devices", "both say which devices; keep devices");
    const bool wants_gpus = o.gpus.is_list() || o.gpus.count(/*all=*/1) > 0;
    if (o.gpus.is_set() && wants_gpus && o.accelerator == Accelerator::Cpu)
      contradict("gpus", "accelerator", "gpus " + o.gpus.to_text() + " with accelerator cpu");
    if (o.gpus.is_set() && !wants_gpus && asks_for_gpu())
      contradict("gpus", "accelerator", "no gpus with accelerator " + o.accelerator.word());
    if (o.nb_gpu_nodes && o.num_nodes != 1 && *o.nb_gpu_nodes != o.num_nodes)
      contradict("nb_gpu_nodes", "num_nodes", c10::str(*o.nb_gpu_nodes, " and ", o.num_nodes, " machines"));
  }

  void strategies() {
    const std::string present = asked_name();
    if (o.distributed_backend && !present.empty() && o.distributed_backend->word() != present)
      contradict("distributed_backend", "strategy", o.distributed_backend->word() + " and " + present);
    const char* const nodes = o.nb_gpu_nodes.value_or(1) > 1 ? "nb_gpu_nodes" : "num_nodes";
    const int64_t count = asked_nodes(o);
    if (choice.traits.has_replicas && count > 1 && asked_strategy(o))
      contradict(strategy_option(), nodes, c10::str(choice.name, " trains on one machine, not on ", count));
    if (choice.traits.shards_optimizer) sharding();
    mesh();
    if (!asked_strategy(o) || !choice.is_one_device()) return;
    if (count > 1)
      contradict("strategy", nodes, c10::str(choice.name, " trains on one device, not on ", count, " machines"));
    for (const auto& [name, value] : {std::pair("devices", &o.devices), std::pair("gpus", &o.gpus)})
      if (value->count(/*all=*/1) > 1)
        contradict("strategy", name, c10::str(choice.name, " trains on one device, not on ", value->count(/*all=*/1)));
  }

  void mesh() {
    const bool divides_layers = o.mesh.tensor > 1;
    if (o.mesh.shard > 0 && !choice.traits.shards_parameters)
      contradict("mesh", option_of_strategy(),
                 c10::str("mesh.shard ", o.mesh.shard, " divides parameters, and ", choice.name,
                          " does not; set strategy to fsdp"));
    else if (divides_layers && !choice.has_ranks())
      contradict("mesh", option_of_strategy(),
                 c10::str("mesh.tensor ", o.mesh.tensor, " needs a process for each device, and ", choice.name,
                          " has one; set strategy to ddp, zero1 or fsdp, and devices"));
    if (!divides_layers) return;
    const auto refuse = [&](const char* option, bool set, const char* why) {
      if (set) contradict("mesh", option, why);
    };
    refuse("amp_level", has_level(AmpLevel::O2),
           "O2 keeps float32 copies of parameters, of which each rank has a part");
    refuse("compiled_step", !o.compiled_step.empty(), "compiled code has whole layers; set mesh.tensor to 1");
    const std::optional<FSDPOptions> fsdp = strategy_options<FSDPOptions>(o.strategy);
    refuse("strategy.state_dict_type", fsdp && fsdp->state_dict_type == StateDictType::Sharded,
           "the ranks of a tensor group gather whole layers for a checkpoint; use full");
    refuse("strategy.reduce_each_batch", fsdp && fsdp->reduce_each_batch,
           "a checkpoint in the middle of a window would hold parts of divided layers; set it to false");
  }

  void sharding() {
    const auto refuse = [&](const char* option, bool set, const std::string& why) {
      if (set) contradict(strategy_option(), option, why);
    };
    refuse("amp_level", has_level(AmpLevel::O2),
           choice.name + " divides the optimizer's state, and O2 keeps whole float32 copies of the weights");
    if (!choice.traits.shards_parameters) return;
    refuse("compiled_step", !o.compiled_step.empty(), "compiled code reads whole parameters; use ddp");
  }

  void precision() {
    const std::string& name = o.precision.name();
    const bool is_default = o.precision == Precision();
    if (o.use_amp.value_or(false) && !is_default && o.precision != Precision(16))
      contradict("use_amp", "precision", "16 bit and " + name);
    if (o.use_amp && !*o.use_amp && (name == "16-mixed" || name == "bf16-mixed"))
      contradict("use_amp", "precision", "use_amp false and " + name);
    if (!o.amp_level || is_default) return;
    if (has_level(AmpLevel::O0))
      contradict("amp_level", "precision", "O0 is 32 bit, not " + name);
    else if (o.precision != Precision(16) && !(has_level(AmpLevel::O3) && name == "16-true"))
      contradict("amp_level", "precision", o.amp_level->word() + " is a way to run 16-mixed, not " + name);
  }

  void graphs() {
    if (!o.cuda_graphs) return;
    const auto refuse = [&](const char* option, bool set, const char* why) {
      if (set) contradict("cuda_graphs", option, why);
    };
    refuse("accelerator", o.accelerator == Accelerator::Cpu, "steps are captured on a GPU");
    refuse("accumulate_grad_batches", o.accumulate_grad_batches > 1, "a graph is a step of one batch");
    refuse("auto_microbatch", o.auto_microbatch, "a step that is captured cannot be split");
    refuse("activation_checkpointing", o.activation_checkpointing, "a replay does not put random numbers back");
    refuse("detect_anomaly", o.detect_anomaly, "each gradient would be read on the host");
    refuse("amp_level", has_level(AmpLevel::O2), "float32 copies of the weights are stepped on the host");
    refuse(option_of_strategy(), !choice.is_one_device(), "a graph is of one device");
  }

  void compiled() {
    if (o.compiled_step.empty()) return;
    const auto refuse = [&](const char* option, bool set, const char* why) {
      if (set) contradict("compiled_step", option, why);
    };
    refuse("cuda_graphs", o.cuda_graphs, "one step is compiled for the CPU, the other captured on a GPU");
    refuse("accelerator", asks_for_gpu(), "steps are compiled for the CPU");
    refuse("gpus", o.gpus.is_set() && (o.gpus.is_list() || o.gpus.count(/*all=*/1) > 0),
           "steps are compiled for the CPU");
    refuse("auto_microbatch", o.auto_microbatch, "a compiled step cannot be split");
    refuse("activation_checkpointing", o.activation_checkpointing, "the compiler decides what is computed again");
    refuse("detect_anomaly", o.detect_anomaly, "a compiled backward has no operations to look at");
    refuse("deterministic", static_cast<bool>(o.deterministic), "compiled code does not look at the switch");
    refuse("sync_batchnorm", o.sync_batchnorm, "a compiled step sends nothing to other ranks");
    if (choice.traits.has_replicas)
      contradict("compiled_step", option_of_strategy(),
                 choice.name + " trains copies of the module, and a step is compiled for one");
  }

  void ranks() {
    if (!choice.has_ranks()) return;
    const auto refuse = [&](const char* option, bool set, const char* why) {
      if (set) contradict(option_of_strategy(), option, choice.name + " trains on several ranks: " + why);
    };
    refuse("auto_microbatch", o.auto_microbatch, "they would split their batches differently");
    refuse("auto_scale_batch_size", o.auto_scale_batch_size.has_value(), "look for the size on one device");
    refuse("auto_lr_find", o.auto_lr_find, "look for the rate on one device");
  }

  void samplers() {
    if (o.replace_sampler_ddp.value_or(false) && !o.use_distributed_sampler)
      contradict("replace_sampler_ddp", "use_distributed_sampler", "true and false");
  }

  void callbacks() {
    if (!o.enable_progress_bar.value_or(!o.barebones) && has_callback<ProgressBar>())
      contradict(o.barebones ? "barebones" : "enable_progress_bar", "callbacks",
                 "no progress bar, and a ProgressBar among the callbacks");
    if (o.quiet && o.enable_progress_bar.value_or(has_callback<ProgressBar>()))
      contradict("quiet", o.enable_progress_bar ? "enable_progress_bar" : "callbacks",
                 "nothing is printed, and a bar is");
    if (o.quiet && o.enable_model_summary.value_or(false))
      contradict("quiet", "enable_model_summary", "nothing is printed, and a summary is");
    if (o.accumulate_grad_batches > 1 && has_callback<GradientAccumulationScheduler>())
      contradict(
          "accumulate_grad_batches", "callbacks",
          "GradientAccumulationScheduler says how many batches to accumulate; leave accumulate_grad_batches at 1");
    if (o.enable_checkpointing.value_or(!o.barebones)) return;
    for (const auto& [name, is_there] : {std::pair("a ModelCheckpoint", has_callback<ModelCheckpoint>()),
                                         std::pair("an OnExceptionCheckpoint", has_callback<OnExceptionCheckpoint>())})
      if (is_there)
        contradict(o.barebones ? "barebones" : "enable_checkpointing", "callbacks",
                   std::string("no checkpoints, and ") + name + " among the callbacks");
  }

  void searches() {
    if (o.scale_lr && o.auto_lr_find)
      contradict("scale_lr", "auto_lr_find", "both say which learning rate belongs to the batch size that is found");
    if (o.scale_lr && !o.auto_scale_batch_size)
      contradict("scale_lr", "auto_scale_batch_size", "the rate follows the batch size, and none is looked for");
    if (!o.fast_dev_run) return;
    if (o.auto_lr_find) contradict("fast_dev_run", "auto_lr_find", "a test of one batch looks for no learning rate");
    if (o.auto_scale_batch_size)
      contradict("fast_dev_run", "auto_scale_batch_size", "a test of one batch looks for no batch size");
  }

  void settings() {
    if (!o.keep_torch_settings) return;
    const auto refuse = [&](const char* option, bool set) {
      if (set)
        contradict("keep_torch_settings", option,
                   c10::str("LibTorch's settings are left alone, and ", option, " is one of them"));
    };
    refuse("deterministic", static_cast<bool>(o.deterministic));
    refuse("benchmark", o.benchmark);
    refuse("detect_anomaly", o.detect_anomaly);
    refuse("flush_denormal", o.flush_denormal);
    refuse("num_threads", o.num_threads.has_value());
    refuse("float32_matmul_precision", o.float32_matmul_precision.has_value());
  }

  void barebones() {
    if (!o.barebones) return;
    const TrainerOptions defaults;
    const auto refuse = [&](const char* option, bool set) {
      if (set) contradict("barebones", option, std::string("barebones runs without it; leave ") + option + " unset");
    };
    refuse("logger", o.logger.is_set() && o.logger.is_on());
    refuse("fast_dev_run", static_cast<bool>(o.fast_dev_run));
    refuse("num_sanity_val_steps",
           o.num_sanity_val_steps != 0 && o.num_sanity_val_steps != defaults.num_sanity_val_steps);
    refuse("log_every_n_steps", o.log_every_n_steps != 0 && o.log_every_n_steps != defaults.log_every_n_steps);
    refuse("enable_checkpointing", o.enable_checkpointing.value_or(false));
    refuse("enable_progress_bar", o.enable_progress_bar.value_or(false));
    refuse("enable_model_summary", o.enable_model_summary.value_or(false));
    refuse("profiler", static_cast<bool>(o.profiler));
    refuse("detect_anomaly", o.detect_anomaly);
  }

  std::vector<Contradiction> found = {};

 private:
  /// Returns the name of the option that led to the choice of the strategy.
  const char* option_of_strategy() const {
    if (asked_strategy(o)) return strategy_option();
    if (o.nb_gpu_nodes.value_or(1) > 1) return "nb_gpu_nodes";
    if (o.num_nodes > 1) return "num_nodes";
    if (o.gpus.is_set()) return "gpus";
    return o.devices.is_set() ? "devices" : "strategy";  // the latter: a launcher has started ranks
  }
  const char* strategy_option() const { return o.distributed_backend ? "distributed_backend" : "strategy"; }

  /// Returns the name in the present spelling; empty if there is none.
  std::string asked_name() const { return o.strategy.class_name() == kAutoStrategy ? "" : o.strategy.class_name(); }
  bool asks_for_gpu() const { return o.accelerator == Accelerator::Gpu || o.accelerator == Accelerator::Cuda; }
  bool has_level(AmpLevel level) const { return o.amp_level && *o.amp_level == level; }

  template <class C>
  bool has_callback() const {
    return !callbacks_of<const C>(o.callbacks).empty();
  }

  void contradict(const std::string& one, const std::string& other, const std::string& why) {
    found.push_back({one, other, why});
  }

  const TrainerOptions& o;
  const StrategyChoice& choice;
};

}  // namespace

std::vector<Contradiction> contradictions(const TrainerOptions& options, const StrategyChoice& strategy) {
  Check check(options, strategy);
  check.limits();
  check.devices();
  check.strategies();
  check.precision();
  check.graphs();
  check.compiled();
  check.ranks();
  check.samplers();
  check.callbacks();
  check.searches();
  check.settings();
  check.barebones();
  return check.found;
}

std::vector<std::string> unsupported_values(const TrainerOptions& o) {
  std::vector<std::string> texts;
  const auto refuse = [&](const auto&... parts) { texts.push_back(c10::str("trainer.", parts...)); };
  if (o.name.empty()) refuse("name: expected a name, got \"\"");
  if (callbacks_of<const EMAWeightAveraging>(o.callbacks).size() > 1)
    refuse(
        "callbacks: two EMAWeightAveraging would each put their averages into the module and into checkpoints; keep "
        "one");
  if (o.accelerator == Accelerator::Mps || o.accelerator == Accelerator::Xpu)
    refuse("accelerator: ", o.accelerator.word(), " is not supported; use auto, cpu or gpu");
  const bool no_devices = !o.devices.is_list() && o.devices.count(/*all=*/1) == 0;
  if (no_devices) refuse("devices: expected at least one device, got 0");
  const std::optional<DPOptions> dp = strategy_options<DPOptions>(o.strategy);
  if (o.accelerator == Accelerator::Cpu && dp && !no_devices && !o.devices.is_list()) {
    const auto count = static_cast<size_t>(o.devices.count(/*all=*/1));
    try {
      choose_output_device(dp->output_device, std::vector<c10::Device>(count, c10::kCPU));
    } catch (const UsageError& error) {
      texts.emplace_back(error.what());
    }
  }
  return texts;
}

}  // namespace levin
