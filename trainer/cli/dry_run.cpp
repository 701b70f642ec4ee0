#include <levin/trainer/cli/dry_run.h>
#include <levin/data/data_module.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/loops/fit_loop.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

namespace levin::cli {
namespace {

/// What some parameters amount to.
struct Amount {
  int64_t count = 0, trainable = 0, bytes = 0;

  void add(const at::Tensor& parameter) {
    count += parameter.numel();
    trainable += parameter.requires_grad() ? parameter.numel() : 0;
    bytes += static_cast<int64_t>(parameter.nbytes());
  }
};

std::string right(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string row(const std::string& name, size_t width, const Amount& amount) {
  return "  " + name + std::string(width - name.size(), ' ') + right(std::to_string(amount.count), 14) +
         right(std::to_string(amount.trainable), 14) +
         right(std::to_string((amount.bytes + 1023) / 1024) + " KiB", 14) + "\n";
}

/// One line for each child of the module, and the sum.
std::string table_of_parameters(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, Amount>> rows;
  for (const auto& child : module.named_children()) {
    rows.emplace_back(child.key(), Amount());
    for (const at::Tensor& parameter : child.value()->parameters()) rows.back().second.add(parameter);
  }
  rows.emplace_back("total", Amount());
  for (const at::Tensor& parameter : module.parameters()) rows.back().second.add(parameter);
  size_t width = std::string("module").size();
  for (const auto& [name, amount] : rows) width = std::max(width, name.size());
  std::string table = "  module" + std::string(width - std::string("module").size(), ' ') + right("parameters", 14) +
                      right("trainable", 14) + right("size", 14) + "\n";
  for (const auto& [name, amount] : rows) table += row(name, width, amount);
  return table;
}

std::string batches(int64_t count, const char* kind) {
  return std::to_string(count) + " " + kind + (count == 1 ? " batch" : " batches");
}

void print_steps(std::ostream& out, const DryRunFindings& findings, const TrainerOptions& options) {
  if (!findings.has_loader) return;
  const std::optional<int64_t> per_epoch =
      options.limit_train_batches.of(findings.batches_per_epoch, "trainer.limit_train_batches");
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
  out << "it would write to " << folder.lexically_normal().string() << ": config.json, "
      << (*options.logger ? "metrics.csv, metrics.jsonl, " : "") << "weights.pt, summary.json\n";
}

}  // namespace

void DryRun::on_train_start(Run& run) {
  // The loop's own loader does not say how many batches it has beyond the one that it may give.
  data::DataModule* const data = run.data_module();
  const data::Loaders loaders = data ? data->train_dataloader() : run.module().train_dataloader();
  findings_->has_loader = !loaders.empty();
  if (!loaders.empty()) findings_->batches_per_epoch = loaders[0].size();
  findings_->parameters = table_of_parameters(run.module());
}

void DryRun::on_train_batch_end(Run& /*run*/) { ++findings_->train_batches; }
void DryRun::on_validation_batch_end(Run& /*run*/) { ++findings_->validation_batches; }

TrainerOptions dry_run_options(TrainerOptions options) {
  options.fast_dev_run = true;
  options.barebones = false;
  options.overfit_batches = 0.0;
  options.auto_lr_find = false;
  options.auto_scale_batch_size = {};
  options.enable_progress_bar = false;
  return options;
}

void print_dry_run(std::ostream& out, const DryRunFindings& findings, const TrainerOptions& options) {
  const TrainerOptions resolved = resolve(options);
  out << "dry run: " << batches(findings.train_batches, "training") << " and "
      << batches(findings.validation_batches, "validation") << " ran; nothing was written\n"
      << findings.parameters;
  print_steps(out, findings, resolved);
  print_files(out, resolved);
  out.flush();
}

}  // namespace levin::cli
