#include <levin/trainer/fit/run_messages.h>
#include <ATen/Parallel.h>
#include <levin/core/run/absent_metric.h>
#include <levin/core/system/console.h>
#include <levin/core/system/cores.h>
#include <levin/core/system/counted.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/options/placement.h>
#include <levin/trainer/run/run_context.h>
#include <levin/trainer/run_folder/config_changes.h>
#include <levin/trainer/run_folder/run_result.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace levin {
namespace {

/// Returns whether this process prints the messages of the run.
bool says(const RunParts& parts) { return !parts.options->quiet && !parts.trial && parts.is_rank_zero(); }

}  // namespace

void warn_of_eval_mode(RunContext& run) {
  if (run.parts.trial || !run.parts.is_rank_zero()) return;
  const LightningModule& module = run.module();
  int64_t count = module.is_training() ? 0 : 1;
  std::string first = count > 0 ? "the module itself" : "";
  for (const auto& part : module.named_modules("", /*include_self=*/false)) {
    if (part.value()->is_training()) continue;
    if (count == 0) first = part.key();
    count += 1;
  }
  if (count == 0) return;
  console::warn(c10::str("fit begins with ", counted(count, "module"), " in eval mode (", first,
                         count > 1 ? ", ..." : "",
                         "), in which dropout is off and batch norms keep their statistics; call module.train() before "
                         "fit unless that is wanted"));
}

void warn_of_absent_metrics(RunContext& run) {
  const RunParts& parts = run.parts;
  if (parts.trial || !run.module().automatic_optimization) return;
  for (size_t i = 0; i < parts.schedulers.size(); ++i) {
    const std::string& monitor = parts.scheduler_configs[i].monitor;
    if (!parts.schedulers[i]->needs_metric()) continue;
    if (const auto what = metric_never_came(run.view, "lr_scheduler.monitor", monitor))
      run.warn_once("lr_scheduler.monitor " + monitor, *what + "; so the scheduler did not step");
  }
}

void print_start(RunContext& run, const Placement& placement, const std::string& from) {
  const RunParts& parts = run.parts;
  if (parts.options->barebones || !says(parts)) return;
  std::string line = c10::str("fit on ", parts.strategy.where(), ", ", counted(at::get_num_threads(), "compute thread"),
                              " on ", counted(cores_of_process(), "core"), ", strategy ", parts.options.strategy().name,
                              " (", placement.strategy.why, ")");
  if (parts.options->precision != Precision()) line += std::string(", precision ") + parts.precision.name();
  if (!run.state.folder.empty()) line += ", run folder " + run.state.folder.path().string();
  if (run.state.resumption.is_resumed())
    line += c10::str(", resumes after ", counted(run.state.counters.global_step, "step"), " and ",
                     counted(run.state.counters.epoch, "epoch"), " of ", from);
  console::info(line);
}

std::string result_line(const RunResult& result) {
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%.1f", result.wall_seconds);
  std::string line = "fit " + result.status;
  if (!result.stop_reason.empty()) line += " (" + result.stop_reason + ")";
  line += ": " + counted(result.epochs, "epoch") + ", " + counted(result.global_step, "step");
  if (result.global_step == 0) line += c10::str(" of ", result.batches, result.batches == 1 ? " batch" : " batches");
  line += std::string(", ") + seconds + " s";
  if (result.non_finite_step)
    line += c10::str("; the loss was NaN or infinite, first in step ", *result.non_finite_step);
  return line;
}

void print_end(const RunContext& run, const RunResult& result) {
  if (!run.parts.options->barebones && says(run.parts)) console::info(result_line(result));
}

void print_config_changes(const RunContext& run, const State& checkpoint) {
  constexpr size_t kMost = 10;
  const State* own = checkpoint.find("levin");
  if (own == nullptr || !says(run.parts)) return;
  std::vector<std::string> changes = config_changes(own->at("config").to_string(), run.state.config.json);
  if (changes.empty()) return;
  const size_t more = changes.size() - std::min(changes.size(), kMost);
  if (more > 0) changes.resize(kMost);
  std::string line = "the config differs from the checkpoint's: ";
  for (const std::string& change : changes) line += (&change == changes.data() ? "" : "; ") + change;
  console::info(more > 0 ? c10::str(line, "; and ", more, " more") : line);
}

void print_starts_over(const RunContext& run, const std::string& ckpt_path, const StartIdentity& start,
                       const std::filesystem::path& runs) {
  if (!says(run.parts)) return;
  if (ckpt_path == "last")
    console::info(c10::str("ckpt_path \"last\": there is no checkpoint below ", runs.string(),
                           "; the run starts from the beginning"));
  else if (start.restarts > 0 && !start.id.empty())
    console::info("it was restarted, and has saved no checkpoint yet: the run starts from the beginning");
}

void print_weights_file(const RunContext& run, Stage stage, const std::filesystem::path& file) {
  if (says(run.parts)) console::info(c10::str(to_string(stage), ": weights of ", file.string()));
}

}  // namespace levin
