#include <levin/trainer/cli/dry_run.h>
#include <levin/data/data_module.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/summary.h>
#include <levin/trainer/loops/fit_loop.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

namespace levin::cli {
namespace {

std::string batches(int64_t count, const char* kind) {
  return std::to_string(count) + " " + kind + (count == 1 ? " batch" : " batches");
}

void print_steps(std::ostream& out, const DryRunFindings& findings, const TrainerOptions& options) {
  if (findings.loaders.empty()) return;
  const std::optional<int64_t> per_epoch = batches_per_epoch(options, findings.loaders);
  const std::optional<int64_t> steps = estimated_steps(options, per_epoch);
  out << "the fit would make ";
  if (steps)
    out << (options.max_time ? "at most " : "") << *steps << (*steps == 1 ? " optimizer step" : " optimizer steps");
  else
    out << "optimizer steps without a known end";
  out << ": " << (per_epoch ? batches(*per_epoch, "training") : "an unknown number of training batches")
      << " per epoch, " << options.accumulate_grad_batches
      << (options.accumulate_grad_batches == 1 ? " batch" : " batches") << " per step";
  if (const std::optional<int64_t> epochs = epoch_limit(options))
    out << ", at most " << *epochs << (*epochs == 1 ? " epoch" : " epochs");
  out << "\n";
}

void print_files(std::ostream& out, const TrainerOptions& options) {
  if (options.fast_dev_run || options.barebones) {
    out << "it would write nothing\n";
    return;
  }
  const auto folder = std::filesystem::path(options.default_root_dir) / options.name / "version_<n>";
  out << "it would write to " << folder.lexically_normal().string() << ": config.json, ";
  for (const std::string& file : options.logger.files()) out << file << ", ";
  out << "weights.pt, summary.json\n";
}

}  // namespace

void DryRun::on_train_start(Run& run) {
  // The loop's own loader does not say how many batches it has beyond the one that it may give.
  data::DataModule* const data = run.data_module();
  findings_->loaders = data ? data->train_dataloader() : run.module().train_dataloader();
  findings_->summary = summarize(run.module()).to_text();
}

void DryRun::on_train_batch_end(Run& /*run*/) { ++findings_->train_batches; }
void DryRun::on_validation_batch_end(Run& /*run*/) { ++findings_->validation_batches; }

TrainerOptions dry_run_options(TrainerOptions options) {
  options.fast_dev_run = true;
  options.barebones = false;
  options.overfit_batches = 0.0;
  options.auto_lr_find = false;
  options.auto_scale_batch_size = {};
  options.enable_progress_bar = options.enable_model_summary = false;
  return options;
}

void print_dry_run(std::ostream& out, const DryRunFindings& findings, const TrainerOptions& options) {
  const TrainerOptions resolved = resolve(options);
  out << "dry run: " << batches(findings.train_batches, "training") << " and "
      << batches(findings.validation_batches, "validation") << " ran; nothing was written\n"
      << findings.summary << "\n";
  print_steps(out, findings, resolved);
  print_files(out, resolved);
  out.flush();
}

}  // namespace levin::cli
