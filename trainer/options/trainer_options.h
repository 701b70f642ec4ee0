#pragma once
#include <levin/callbacks/callback_list.h>
#include <levin/core/options/batch_limit.h>
#include <levin/core/options/check_interval.h>
#include <levin/core/options/deterministic.h>
#include <levin/core/options/devices.h>
#include <levin/core/options/duration.h>
#include <levin/core/options/fast_dev_run.h>
#include <levin/core/options/option.h>
#include <levin/trainer/loggers/logger_choice.h>
#include <levin/trainer/options/option_values.h>
#include <levin/trainer/precision/precision.h>
#include <levin/trainer/profilers/profiler_kind.h>
#include <levin/trainer/strategies/strategy_kind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// The ranks of a run as a mesh of two dimensions. Consecutive ranks are a tensor group.
struct MeshOptions {
  int64_t shard = LEVIN_OPTION(shard, 0,
                               "fsdp: ranks that divide parameters, gradients and optimizer state among each other; 0: "
                               "all that hold the same part of the layers",
                               {.min = 0});
  int64_t tensor = LEVIN_OPTION(
      tensor, 1, "Size of a tensor-parallel group: consecutive ranks, which compute the same batches", {.min = 1});
};

/// The options of a Trainer: PyTorch Lightning's in the order of its constructor, then the spellings of its early
/// versions, then the options that only levin has. New options are only appended, because designated initializers
/// depend on the order.
///
///     levin::Trainer trainer({.max_epochs = 5, .accumulate_grad_batches = 4, .devices = 2});
struct TrainerOptions {
  Choice<Accelerator> accelerator =
      LEVIN_OPTION(accelerator, Accelerator::Auto, "Kind of device; auto: GPUs if there are any, else the CPU");
  ClassChoice<StrategyKind> strategy = LEVIN_OPTION(strategy, {"auto"}, "How several devices train one model");
  Devices devices = LEVIN_OPTION(devices, {}, "Which devices. Unset: one");
  int64_t num_nodes = LEVIN_OPTION(num_nodes, 1, "Machines that train together", {.min = 1});
  Precision precision = LEVIN_OPTION(precision, {}, "Arithmetic of the training");
  LoggerChoice logger =
      LEVIN_OPTION(logger, {}, "Loggers by name; true: CSVLogger and JSONLinesLogger; false: none. Unset: true");
  std::vector<CallbackEntry> callbacks =
      LEVIN_OPTION(callbacks, {}, "Callbacks, in the order in which they are called");
  FastDevRun fast_dev_run =
      LEVIN_OPTION(fast_dev_run, {}, "Run only this many batches of each kind (true: 1) as a test, and write nothing");
  std::optional<int64_t> max_epochs =
      LEVIN_OPTION(max_epochs, {},
                   "Stop after this many epochs; -1: no limit; unset: 1000 where no other limit is given", {.min = -1});
  std::optional<int64_t> min_epochs = LEVIN_OPTION(min_epochs, {}, "Train at least this many epochs", {.min = 0});
  int64_t max_steps = LEVIN_OPTION(max_steps, -1, "Stop after this many optimizer steps; -1: no limit", {.min = -1});
  std::optional<int64_t> min_steps =
      LEVIN_OPTION(min_steps, {}, "Train at least this many optimizer steps", {.min = 0});
  std::optional<Duration> max_time = LEVIN_OPTION(max_time, {}, "Stop after this time");
  BatchLimit limit_train_batches = LEVIN_OPTION(limit_train_batches, 1.0, "Train batches of each epoch");
  BatchLimit limit_val_batches = LEVIN_OPTION(limit_val_batches, 1.0, "Validation batches of each loader");
  BatchLimit limit_test_batches = LEVIN_OPTION(limit_test_batches, 1.0, "Test batches of each loader");
  BatchLimit limit_predict_batches = LEVIN_OPTION(limit_predict_batches, 1.0, "Prediction batches of each loader");
  BatchLimit overfit_batches =
      LEVIN_OPTION(overfit_batches, 0.0,
                   "Train on the same few batches in each epoch, unshuffled, and validate on as many; 0.0: off");
  CheckInterval val_check_interval = LEVIN_OPTION(
      val_check_interval, 1.0, "Validate every n batches, at this fraction of the epoch, or after this time");
  std::optional<int64_t> check_val_every_n_epoch =
      LEVIN_OPTION(check_val_every_n_epoch, 1,
                   "Validate only every n epochs; null: val_check_interval counts across epochs", {.min = 1});
  int64_t num_sanity_val_steps =
      LEVIN_OPTION(num_sanity_val_steps, 2, "Validation batches to try before training; -1: all", {.min = -1});
  int64_t log_every_n_steps =
      LEVIN_OPTION(log_every_n_steps, 50, "Log step values every n training batches; 0: never", {.min = 0});
  std::optional<bool> enable_checkpointing = LEVIN_OPTION(enable_checkpointing, {},
                                                          "Save checkpoints; if there is no ModelCheckpoint, the "
                                                          "newest epoch is saved. Unset: true");
  std::optional<bool> enable_progress_bar = LEVIN_OPTION(enable_progress_bar, {}, "Show the progress. Unset: true");
  std::optional<bool> enable_model_summary =
      LEVIN_OPTION(enable_model_summary, {}, "Print the layers before training. Unset: true");
  int64_t accumulate_grad_batches =
      LEVIN_OPTION(accumulate_grad_batches, 1, "Train batches whose gradients make one optimizer step", {.min = 1});
  std::optional<double> gradient_clip_val =
      LEVIN_OPTION(gradient_clip_val, {}, "Clip gradients at this norm or value; unset, 0 or below: no clipping");
  Choice<GradientClipAlgorithm> gradient_clip_algorithm =
      LEVIN_OPTION(gradient_clip_algorithm, GradientClipAlgorithm::Norm, "What gradient_clip_val bounds");
  Deterministic deterministic =
      LEVIN_OPTION(deterministic, false, "Use only deterministic algorithms; \"warn\": warn where there is none");
  bool benchmark = LEVIN_OPTION(benchmark, false, "Let cuDNN try which algorithms are fastest");
  bool inference_mode = LEVIN_OPTION(inference_mode, true, "Evaluate in inference mode; false: only without gradients");
  bool use_distributed_sampler =
      LEVIN_OPTION(use_distributed_sampler, true, "Give every rank its own part of the samples");
  ClassChoice<ProfilerKind> profiler = LEVIN_OPTION(profiler, {}, "Measure where time and memory go; unset: do not");
  bool detect_anomaly = LEVIN_OPTION(detect_anomaly, false, "Let autograd look for NaN in backward");
  bool barebones = LEVIN_OPTION(barebones, false, "Only train: no logs, bar, checkpoints, summary or sanity check");
  bool sync_batchnorm = LEVIN_OPTION(sync_batchnorm, false, "BatchNorm statistics over all ranks");
  int64_t reload_dataloaders_every_n_epochs =
      LEVIN_OPTION(reload_dataloaders_every_n_epochs, 0, "Ask for new loaders every n epochs; 0: never", {.min = 0});
  std::string default_root_dir = LEVIN_OPTION(default_root_dir, ".", "Folder that holds the runs' folders");

  // Spellings of early PyTorch Lightning versions.
  Devices gpus = LEVIN_OPTION(gpus, {}, "Early spelling of accelerator gpu and devices");
  std::optional<int64_t> nb_gpu_nodes = LEVIN_OPTION(nb_gpu_nodes, {}, "Early spelling of num_nodes", {.min = 1});
  std::optional<Choice<DistributedBackend>> distributed_backend =
      LEVIN_OPTION(distributed_backend, {}, "Early spelling of strategy");
  std::optional<bool> use_amp = LEVIN_OPTION(use_amp, {}, "Early spelling of precision 16");
  std::optional<Choice<AmpLevel>> amp_level =
      LEVIN_OPTION(amp_level, {}, "Level of use_amp: 32 bit, autocast, float32 master weights, all in float16");
  std::optional<bool> replace_sampler_ddp =
      LEVIN_OPTION(replace_sampler_ddp, {}, "Early spelling of use_distributed_sampler");
  bool auto_lr_find = LEVIN_OPTION(auto_lr_find, false, "Look for a learning rate before fit");
  std::optional<Choice<BatchSizeMode>> auto_scale_batch_size =
      LEVIN_OPTION(auto_scale_batch_size, {}, "Look for the largest batch size before fit");

  // Options that only levin has.
  std::string name = LEVIN_OPTION(name, "levin_logs", "Name of the runs: their folder under default_root_dir");
  std::optional<int64_t> seed = LEVIN_OPTION(
      seed, {},
      "Seed of the run's random numbers, and in the levin program also of the initial weights; a program of your own "
      "calls levin::seed_everything before it makes the module. Unset: not seeded",
      {.min = 0});
  Choice<Launcher> launcher =
      LEVIN_OPTION(launcher, Launcher::Auto, "Who starts the ranks; none: levin starts no process");
  bool keep_freed_memory = LEVIN_OPTION(
      keep_freed_memory, true, "While a run lasts, the heap keeps what tensors free for the next step (glibc)");
  Choice<MemoryLayout> memory_format =
      LEVIN_OPTION(memory_format, MemoryLayout::Preserve,
                   "How images and convolutions lie in memory; channels_last is faster for convolutions on the CPU");
  bool flush_denormal = LEVIN_OPTION(flush_denormal, false, "Treat denormal numbers, which CPUs compute slowly, as 0");
  std::optional<int64_t> num_threads = LEVIN_OPTION(
      num_threads, {}, "Compute threads; unset: one per core, as far as the process may use them", {.min = 1});
  Choice<OnSignal> on_sigusr1 = LEVIN_OPTION(
      on_sigusr1, OnSignal::Auto, "What the program does at SIGUSR1; auto: requeue inside a SLURM job, save elsewhere");
  Choice<OnSignal> on_sigusr2 = LEVIN_OPTION(on_sigusr2, OnSignal::Save, "What the program does at SIGUSR2",
                                             {.choices = {"save", "stop", "requeue", "ignore"}});
  Duration wall_margin = LEVIN_OPTION(wall_margin, Duration("00:00:01:00"),
                                      "Inside a SLURM job: save and end this long before its time limit; 0: do not");
  Choice<CheckpointErrors> checkpoint_errors = LEVIN_OPTION(
      checkpoint_errors, CheckpointErrors::Raise, "A checkpoint that cannot be saved ends the run, or is a warning");
  bool cuda_graphs = LEVIN_OPTION(cuda_graphs, false, "Capture whole training steps on a GPU and replay them");
  bool auto_microbatch =
      LEVIN_OPTION(auto_microbatch, false, "Split a batch that does not fit into memory and train its parts");
  bool activation_checkpointing = LEVIN_OPTION(
      activation_checkpointing, false, "Compute activations of marked modules again in backward, to save memory");
  std::optional<std::string> float32_matmul_precision =
      LEVIN_OPTION(float32_matmul_precision, {}, "Precision of float32 matrix products; unset: unchanged",
                   {.choices = {"highest", "high", "medium"}});
  std::optional<Choice<LRScalingRule>> scale_lr =
      LEVIN_OPTION(scale_lr, {},
                   "Multiply the learning rate if auto_scale_batch_size has changed the batch: by the same factor "
                   "(linear) or by its square root (sqrt)");
  double timeout_seconds = LEVIN_OPTION(
      timeout_seconds, 1800, "ddp: how long ranks wait for each other before the run ends with an error", {.min = 1});
  int64_t max_restarts = LEVIN_OPTION(
      max_restarts, 0, "ddp: how often all ranks are started again from their newest checkpoint", {.min = 0});
  bool keep_global_batch =
      LEVIN_OPTION(keep_global_batch, false,
                   "ddp: a run that is resumed on another number of ranks keeps its samples per step; "
                   "accumulate_grad_batches changes with the ranks");
  Choice<ProcessGroupBackend> process_group_backend =
      LEVIN_OPTION(process_group_backend, ProcessGroupBackend::Auto,
                   "ddp: backend of the process group; auto: NCCL between GPUs, memory between the CPU ranks of one "
                   "machine, else Gloo");
  bool quiet = LEVIN_OPTION(quiet, false,
                            "Print nothing but warnings, errors and results: no start line, progress bar or summary");
  bool print_warnings = LEVIN_OPTION(
      print_warnings, true, "Print warnings; false: only the run's result, and a session, have them as a list");
  bool keep_torch_settings = LEVIN_OPTION(
      keep_torch_settings, false,
      "Change none of LibTorch's process-wide settings: compute threads, denormals, algorithms, anomaly mode");
  Choice<GeneratorChoice> random_generator = LEVIN_OPTION(
      random_generator, GeneratorChoice::Auto,
      "Where a run with a seed draws on the CPU; own: a generator of its own, so that neither the program nor runs in "
      "other threads share it; default: LibTorch's one; auto: own if another run is in progress when it starts");
  bool handle_signals =
      LEVIN_OPTION(handle_signals, true,
                   "The levin program handles SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2; library calls never do");
  Choice<ResumedOptions> resume_optimizer_options =
      LEVIN_OPTION(resume_optimizer_options, ResumedOptions::Saved,
                   "Learning rate, weight decay, other options of the optimizers' groups, and schedules of a run that "
                   "is resumed: the checkpoint's, or the present ones of configure_optimizers");

  std::string compiled_step = LEVIN_OPTION(
      compiled_step, "",
      "Package of `levin compile` that runs in place of forward and backward (CPU); it is code, which the run loads; "
      "empty: none");

  MeshOptions mesh = LEVIN_OPTION(mesh, {}, "Ranks as a mesh: which divide parameters, and which layers");

  /// Returns options for a run inside a host program. Such a run leaves the process alone: it prints nothing, writes no
  /// file, starts no process, handles no signal, and changes no setting of the process (compute threads, denormals,
  /// heap, LibTorch's generator if `seed` is set). Errors are exceptions, and warnings are in RunResult::warnings.
  /// docs/embedding.md lists the options that it sets; each can be changed again.
  static TrainerOptions embedded();
};

/// Returns the name of the strategy that options ask for, in the early or the present spelling; nullopt if they leave
/// it to `devices`.
std::optional<std::string> asked_strategy(const TrainerOptions& given);

/// Returns the machines that options ask for, in the early or the present spelling.
int64_t asked_nodes(const TrainerOptions& given);

}  // namespace levin
