#include <levin/program/config/option_groups.h>

#include <algorithm>
#include <vector>

namespace levin::cli {
namespace {

struct OptionGroup {
  const char* title;
  std::vector<std::string> options;
  /// Options of the group that only fit uses.
  std::vector<std::string> of_fit = {};
};

const std::vector<OptionGroup>& option_groups() {
  static const std::vector<OptionGroup> groups = {
      {"Trainer: length of the run",
       {"fast_dev_run", "limit_val_batches", "limit_test_batches", "limit_predict_batches"},
       {"max_epochs", "min_epochs", "max_steps", "min_steps", "max_time", "limit_train_batches", "overfit_batches"}},
      {"Trainer: steps of the optimizer",
       {},
       {"accumulate_grad_batches", "gradient_clip_val", "gradient_clip_algorithm", "auto_lr_find",
        "auto_scale_batch_size", "scale_lr", "detect_anomaly", "resume_optimizer_options"}},
      {"Trainer: validation during fit", {}, {"val_check_interval", "check_val_every_n_epoch", "num_sanity_val_steps"}},
      {"Trainer: what is shown and written",
       {"default_root_dir", "logger", "callbacks", "enable_progress_bar", "quiet", "print_warnings", "profiler"},
       {"log_every_n_steps", "enable_model_summary", "enable_checkpointing", "checkpoint_errors", "barebones"}},
      {"Trainer: devices and arithmetic",
       {"accelerator", "devices", "precision", "inference_mode", "deterministic", "benchmark",
        "float32_matmul_precision", "flush_denormal", "num_threads", "memory_format", "keep_freed_memory",
        "keep_torch_settings", "random_generator"},
       {"cuda_graphs", "compiled_step", "auto_microbatch", "activation_checkpointing"}},
      {"Trainer: several devices and machines",
       {"strategy", "num_nodes", "launcher", "process_group_backend", "timeout_seconds", "use_distributed_sampler",
        "mesh"},
       {"sync_batchnorm", "max_restarts", "keep_global_batch"}},
      {"Trainer: data", {}, {"reload_dataloaders_every_n_epochs"}},
      {"Trainer: signals and time limits", {"handle_signals", "on_sigusr1", "on_sigusr2"}, {"wall_margin"}},
      {"Trainer: early spellings",
       {"gpus", "nb_gpu_nodes", "distributed_backend", "use_amp", "amp_level", "replace_sampler_ddp"}},
  };
  return groups;
}

bool holds(const std::vector<std::string>& options, const std::string& option) {
  return std::find(options.begin(), options.end(), option) != options.end();
}

}  // namespace

std::string group_of_option(const std::string& option, const std::string& command) {
  const bool only_evaluates = command == "validate" || command == "test" || command == "predict";
  for (const OptionGroup& group : option_groups()) {
    if (holds(group.of_fit, option)) return only_evaluates ? "" : group.title;
    if (holds(group.options, option)) return group.title;
  }
  return "Trainer";
}

}  // namespace levin::cli
