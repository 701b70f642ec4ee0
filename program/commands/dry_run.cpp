#include <levin/program/commands/dry_run.h>
#include <levin/callbacks/callbacks_of.h>
#include <levin/callbacks/model_checkpoint.h>
#include <levin/core/system/counted.h>
#include <levin/core/system/error.h>
#include <levin/core/system/memory_use.h>
#include <levin/data/combined_loader.h>
#include <levin/data/data_module.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/summary.h>
#include <levin/trainer/run/run_context.h>
#include <levin/trainer/run/training_length.h>
#include <levin/trainer/strategies/forwarding_strategy.h>
#include <levin/trainer/strategies/fsdp.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace levin::cli {
namespace {

std::string batches(int64_t count, const char* kind) {
  return std::to_string(count) + " " + kind + (count == 1 ? " batch" : " batches");
}

/// Returns the batches per epoch of the training loaders, combined if there are several; unset if unknown.
std::optional<int64_t> size_of(const data::Loaders& loaders) {
  return loaders.size() > 1 ? data::CombinedLoader(loaders).size() : loaders[0].size();
}

void print_steps(std::ostream& out, const DryRunFindings& findings, const ResolvedOptions& options) {
  if (findings.loaders.empty()) return;
  const std::optional<int64_t> per_epoch = options->limit_train_batches.of(
      size_of(findings.loaders), options.limit_or_overfit("trainer.limit_train_batches"));
  const std::optional<int64_t> steps = estimated_steps(
      options.whole_fit(), per_epoch, batches_of_step(options->accumulate_grad_batches, options->callbacks));
  out << "the fit would make ";
  if (steps)
    out << (options->max_time ? "at most " : "") << *steps << (*steps == 1 ? " optimizer step" : " optimizer steps");
  else
    out << "optimizer steps without a known end";
  out << ": " << (per_epoch ? batches(*per_epoch, "training") : "an unknown number of training batches")
      << " per epoch, " << options->accumulate_grad_batches
      << (options->accumulate_grad_batches == 1 ? " batch" : " batches") << " per step";
  if (const std::optional<int64_t> epochs = options.epoch_limit())
    out << ", at most " << *epochs << (*epochs == 1 ? " epoch" : " epochs");
  out << "\n";
}

int64_t bytes_of(const at::Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); }

/// Adds the tensors of an optimizer's state to `memory`, by device; a no-op if the state cannot be read.
void add_state(torch::optim::Optimizer& optimizer, std::map<std::string, MemoryNeed>& memory) try {
  const State state = optim::optimizer_state_dict(optimizer);
  for (const auto& [index, values] : state.at("state").to_dict())
    for (const auto& [name, value] : values.to_dict())
      if (value.is_tensor()) memory[value.to_tensor().device().str()].optimizer_state += bytes_of(value.to_tensor());
} catch (const UsageError&) {
}

int64_t state_bytes(Run& run) {
  std::map<std::string, MemoryNeed> memory;
  for (const auto& optimizer : run.optimizers()) add_state(*optimizer, memory);
  int64_t sum = 0;
  for (const auto& [device, need] : memory) sum += need.optimizer_state;
  return sum;
}

std::string megabytes(int64_t bytes) { return c10::str(std::round(static_cast<double>(bytes) / 1e3) / 1e3, " MB"); }

void print_memory(std::ostream& out, const DryRunFindings& findings) {
  for (const auto& [device, need] : findings.memory)
    out << "memory on " << device << ": parameters " << megabytes(need.parameters) << ", gradients "
        << megabytes(need.gradients) << ", optimizer state " << megabytes(need.optimizer_state) << ", activations "
        << megabytes(need.activations) << " for a batch of " << findings.batch_size
        << (need.backward > 0 ? ", backward " + megabytes(need.backward) : "")
        << (need.whole_units > 0 ? ", whole units " + megabytes(need.whole_units) : "") << "; together "
        << megabytes(need.sum()) << "\n";
  if (findings.process > 0)
    out << "main memory of the process, with the program and its libraries: " << megabytes(findings.process) << "\n";
}

void print_ranks(std::ostream& out, const DryRunFindings& findings, const ResolvedOptions& options,
                 std::vector<double> bandwidths) {
  const int64_t processes = findings.ranks * findings.tensor_ranks;
  if (processes == 1) return;
  const int64_t samples = findings.batch_size * findings.ranks * options->accumulate_grad_batches;
  out << "ranks: " << processes << ", " << processes / findings.nodes << " on each of " << findings.nodes
      << (findings.nodes == 1 ? " machine" : " machines") << "; " << samples << " samples per step, "
      << findings.batch_size << " in each batch of a rank\n";
  if (findings.tensor_ranks > 1)
    out << "mesh: " << findings.ranks << " data-parallel ranks, of " << findings.tensor_ranks
        << " tensor-parallel ones each; what follows is of one of these, without what layers send\n";
  if (findings.ranks == 1) return;
  // For zero1 NCCL reduce-scatters gradients, while Gloo all-reduces them.
  const int64_t sent =
      findings.reduction.bytes_sent(findings.ranks, /*scatters=*/options->accelerator != Accelerator::Cpu);
  const bool in_units = findings.reduction.only_scatters;
  out << "gradients: " << megabytes(findings.reduction.bytes) << " in "
      << counted(findings.reduction.buckets, in_units ? "unit" : "bucket");
  if (findings.reduction.gathered_bytes > 0)
    out << ", parameters: " << megabytes(findings.reduction.gathered_bytes)
        << (in_units ? " gathered in each step" : " gathered after the step");
  out << "; each rank sends " << megabytes(sent) << " in each step";
  if (bandwidths.empty()) bandwidths = {10, 100, 400};
  const char* before = ", which takes ";
  for (const double gigabits : bandwidths) {
    const double milliseconds = static_cast<double>(sent) * 8 / (gigabits * 1e9) * 1e3;
    out << std::exchange(before, ", ") << c10::str(std::round(milliseconds * 10) / 10) << " ms at " << gigabits
        << " Gbit/s";
  }
  out << "\n";
}

/// Adds names like "checkpoints/{epoch}-{step}.ckpt" and "checkpoints/last.ckpt"; a dirpath is used as given.
void add_files_of(const ModelCheckpointOptions& options, std::vector<std::string>& files) {
  const std::filesystem::path folder = options.dirpath.empty() ? "checkpoints" : options.dirpath;
  if (options.save_top_k != 0) files.push_back((folder / (options.filename + ".ckpt")).string());
  if (options.save_last) files.push_back((folder / "last.ckpt").string());
}

std::vector<std::string> checkpoint_files(const ResolvedOptions& options) {
  std::vector<std::string> files;
  if (!options.saves_checkpoints()) return files;
  const auto savers = callbacks_of<const ModelCheckpoint>(options->callbacks);
  for (const ModelCheckpoint* const one : savers) add_files_of(one->options(), files);
  if (savers.empty()) add_files_of({.save_last = true}, files);
  return files;
}

void print_files(std::ostream& out, const ResolvedOptions& options) {
  if (!options.has_run_folder()) {
    out << "it would write nothing\n";
    return;
  }
  const auto folder = std::filesystem::path(options->default_root_dir) / options->name / "version_<n>";
  out << "it would write to " << folder.lexically_normal().string() << ": config.json, ";
  for (const std::string& file : options->logger.files()) out << file << ", ";
  for (const std::string& file : checkpoint_files(options)) out << file << ", ";
  out << "run.json, weights.pt, summary.json\n";
}

}  // namespace

void DryRun::on_train_start(Run& run) {
  // Separate loaders, because the loop's loader is limited to one batch.
  data::DataModule* const data = run.data_module();
  findings_->loaders = data ? data->train_dataloader() : run.module().train_dataloader();
  findings_->summary = summarize(run.module()).to_text();
  findings_->ranks = run.comm().world_size();
  findings_->tensor_ranks = run.comm().processes() / findings_->ranks;
  findings_->nodes = nodes_;
  if (findings_->ranks == 1) return;
  for (const auto& loader : findings_->loaders) loader->shard(0, findings_->ranks);
  if (traits_.shards_parameters)
    findings_->reduction = sharding_plan(run).reduction;
  else
    findings_->reduction = parallel::plan_reduction(run.module(), reduction_);
}

parallel::ShardingPlan DryRun::sharding_plan(Run& run) const {
  const auto* const fsdp = find_strategy<FsdpStrategy>(dynamic_cast<RunView&>(run).context().parts.strategy);
  return parallel::plan_sharding(run.module(), sharding_,
                                 {.ranks = findings_->ranks,
                                  .batches = batches_of_step_,
                                  .scatters = !is_on_cpu_,
                                  .uses = fsdp ? fsdp->uses() : std::vector<size_t>()});
}

void DryRun::on_train_batch_start(Run& run) {
  if (findings_->train_batches == 0) {  // later ones free gradients that were there before
    findings_->batch_size = run.batch().size();
    tracker_ = std::make_unique<MemoryTracker>();
  }
  state_before_ = state_bytes(run);
}

void DryRun::on_before_backward(Run& run, at::Tensor& /*loss*/) {
  if (!tracker_) return;
  const bool shards = traits_.shards_parameters;
  for (const auto& [device, bytes] : tracker_->live())
    findings_->memory[device].activations =
        std::max<int64_t>(0, bytes - (shards ? parallel::whole_bytes(run.module()) : 0));
}

void DryRun::on_after_backward(Run& run) {
  if (!tracker_ || traits_.shards_parameters) return;
  std::map<std::string, int64_t> gradients;
  for (const at::Tensor& parameter : run.module().parameters())
    if (parameter.requires_grad()) gradients[parameter.device().str()] += bytes_of(parameter);
  for (const auto& [device, bytes] : tracker_->peak()) {
    MemoryNeed& need = findings_->memory[device];
    need.backward = std::max<int64_t>(0, bytes - need.activations - gradients[device]);
  }
}

void DryRun::on_train_batch_end(Run& run) {
  const int64_t peak = host_memory().resident_peak;
  tracker_.reset();
  if (findings_->train_batches++ == 0) add_weights(run);
  for (auto& [device, need] : findings_->memory) need.optimizer_state = 0;
  for (const auto& optimizer : run.optimizers()) add_state(*optimizer, findings_->memory);
  const bool is_known = peak > 0 && findings_->ranks * findings_->tensor_ranks == 1 && findings_->memory.size() == 1 &&
                        findings_->memory.contains("cpu");
  // State that this batch was the first to leave is beside the activations of the next.
  findings_->process = is_known ? peak + state_bytes(run) - state_before_ : 0;
}

void DryRun::add_weights(Run& run) {
  if (traits_.shards_parameters) {
    const parallel::ShardingPlan plan = sharding_plan(run);
    MemoryNeed& need = findings_->memory[run.module().parameters().front().device().str()];
    need.parameters = plan.parameters;
    need.gradients = plan.gradients;
    need.whole_units = plan.whole;
    findings_->reduction = plan.reduction;
  } else {
    add_parameters(run.module());
  }
}

void DryRun::add_parameters(const torch::nn::Module& module) {
  for (const at::Tensor& parameter : module.parameters()) {
    MemoryNeed& need = findings_->memory[parameter.device().str()];
    need.parameters += bytes_of(parameter);
    if (parameter.requires_grad()) need.gradients += bytes_of(parameter);
  }
}

void DryRun::on_exception(Run& /*run*/, const std::exception& /*error*/) { tracker_.reset(); }

void DryRun::on_validation_batch_end(Run& /*run*/) { ++findings_->validation_batches; }

TrainerOptions dry_run_options(TrainerOptions options) {
  options.fast_dev_run = 2;  // the heap has its size from the second step on, which finds gaps where the first had none
  options.barebones = false;
  if (!options.overfit_batches.is_none()) options.limit_train_batches = options.overfit_batches;
  options.overfit_batches = 0.0;
  options.auto_lr_find = false;
  options.auto_scale_batch_size = {};
  options.scale_lr = {};
  options.enable_progress_bar = options.enable_model_summary = false;
  return options;
}

void print_dry_run(std::ostream& out, const DryRunFindings& findings, const ResolvedOptions& options,
                   const std::vector<double>& bandwidths) {
  out << "dry run: " << batches(findings.train_batches, "training") << " and "
      << batches(findings.validation_batches, "validation") << " ran; nothing was written\n"
      << findings.summary << "\n";
  print_ranks(out, findings, options, bandwidths);
  print_memory(out, findings);
  print_steps(out, findings, options);
  print_files(out, options);
  out.flush();
}

}  // namespace levin::cli
