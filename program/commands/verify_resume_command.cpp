#include <ATen/Context.h>
#include <levin/callbacks/callback.h>
#include <levin/callbacks/device_stats_monitor.h>
#include <levin/callbacks/throughput_monitor.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/private_folder.h>
#include <levin/data/data_module.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/commands/ckpt_diff.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/run_module.h>
#include <levin/program/commands/verify_resume.h>
#include <levin/program/config/run_options.h>
#include <levin/trainer/launch.h>
#include <levin/trainer/launch/environment.h>
#include <levin/trainer/trainer.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace levin::cli {
namespace fs = std::filesystem;
namespace {

constexpr double kToTheBit = 0;

/// Saves after `step` steps (with `inside_window`, inside the next accumulation window) and ends the run there.
class SaveAndStop : public Callback {
 public:
  SaveAndStop(int64_t step, bool inside_window, fs::path file)
      : step_(step), inside_window_(inside_window), file_(std::move(file)) {}
  void on_train_batch_end(Run& run) override {
    if (saved_ || run.state().global_step < step_) return;
    if (inside_window_ && run.state().window.position == 0) return;
    run.save_checkpoint(file_);
    run.request_stop("verify-resume has its checkpoint");
    saved_ = true;
  }

 private:
  int64_t step_;
  bool inside_window_;
  fs::path file_;
  bool saved_ = false;
};

struct SessionPlan {
  const char* name;
  int64_t steps;  ///< of the whole run; schedules may depend on it
  int64_t stop_after;
  bool inside_window = false;
  fs::path go_on_from = {};
};

/// The environment variable by which the ranks that this command starts find its folder.
constexpr const char* kFolder = "LEVIN_VERIFY_RESUME_FOLDER";

/// The folder of all ranks' files, which the first process makes and removes.
class SharedFolder {
 public:
  /// Throws UsageError in a process that somebody else has started as a rank.
  SharedFolder() : path_(find()) {}
  ~SharedFolder() {
    if (own_) ::unsetenv(kFolder);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path find();

  std::optional<PrivateFolder> own_ = {};
  fs::path path_;
};

fs::path SharedFolder::find() {
  if (const char* const made = std::getenv(kFolder); made != nullptr) return made;
  const auto launched = find_launch_environment();
  if (launched && launched->world_size > 1)
    throw UsageError("verify-resume starts its ranks itself and cannot be started by ", launched->launcher,
                     "; run it once, without a launcher, with --devices");
  own_.emplace("verify_resume");
  ::setenv(kFolder, own_->path().c_str(), /*overwrite=*/1);
  return own_->path();
}

/// Returns whether this process reads and compares the files, which the first rank alone knows to be complete.
bool is_first_rank() {
  const auto launched = find_launch_environment();
  return !launched || launched->rank == 0;
}

/// Returns whether the callback logs what the machine did, which no two runs share.
bool measures_machine(const CallbackEntry& entry) {
  const Callback* const callback = entry.callback.get();
  return dynamic_cast<const DeviceStatsMonitor*>(callback) != nullptr ||
         dynamic_cast<const ThroughputMonitor*>(callback) != nullptr;
}

/// Runs one session with a new module, data and callbacks. Writes `checkpoint` and returns the rows of metrics.jsonl.
std::vector<std::string> run_session(const Config& config, const fs::path& scratch, const fs::path& checkpoint,
                                     const SessionPlan& plan) {
  ReadOptions options = read_run_options(config);
  require_model(options);
  TrainerOptions& trainer = options.trainer;
  if (!trainer.seed) trainer.seed = 1;
  trainer.max_epochs = -1;
  trainer.max_steps = plan.steps + 1;  // SaveAndStop ends the run before
  trainer.min_epochs.reset();
  trainer.min_steps.reset();
  trainer.max_time.reset();
  trainer.auto_lr_find = false;
  trainer.auto_scale_batch_size.reset();
  trainer.scale_lr.reset();
  trainer.logger = true;
  trainer.enable_checkpointing = trainer.enable_progress_bar = trainer.enable_model_summary = false;
  trainer.default_root_dir = (scratch / plan.name).string();
  trainer.name = "run";
  std::erase_if(trainer.callbacks, measures_machine);
  trainer.callbacks.push_back(SaveAndStop(plan.stop_after, plan.inside_window, checkpoint));
  at::manual_seed(static_cast<uint64_t>(*trainer.seed));
  const auto module = options.model.make("model");
  const auto data = options.data ? options.data.make("data") : nullptr;
  Trainer made(trainer);
  const std::string from = plan.go_on_from.string();
  const RunResult result = data ? made.fit(*module, *data, from) : made.fit(*module, {}, {}, from);
  if (!is_first_rank()) return {};
  if (!fs::exists(checkpoint))
    throw UsageError("verify-resume: the fit ended after ", result.global_step, " steps, before ", plan.stop_after,
                     "; give fewer --steps");
  std::vector<std::string> rows;
  std::ifstream file(result.folder / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto row = nlohmann::ordered_json::parse(line);
    row.erase("wall_seconds");
    rows.push_back(row.dump());
  }
  return rows;
}

void erase(State& dict, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    std::erase_if(dict.to_dict(), [&](const State::Item& item) { return to_text(item.first) == key; });
}

/// Removes the times and folders, which differ between sessions.
void forget_times(const fs::path& file) {
  State state = load_state(file);
  State& own = state["levin"];
  erase(own, {"saved_at", "config", "loggers", "stop_reason", "run"});
  erase(own["trainer"], {"elapsed_seconds", "validated_seconds"});
  erase(state["callbacks"], {"Timer"});
  save_state(state, file);
}

}  // namespace

bool verify_resume(std::ostream& out, const Config& config, int64_t steps) {
  if (steps < 2) throw UsageError("--steps: expected at least 2, got ", steps);
  const SharedFolder folder;
  const fs::path& scratch = folder.path();
  const bool accumulates = read_run_options(config).trainer.accumulate_grad_batches > 1;
  const fs::path whole = scratch / "unbroken.ckpt", middle = scratch / "middle.ckpt", again = scratch / "resumed.ckpt";
  const auto rows = run_session(config, scratch, whole, {"unbroken", steps, steps});
  run_session(config, scratch, middle, {"stopped", steps, steps / 2, accumulates});
  const auto rows_again = run_session(config, scratch, again, {"resumed", steps, steps, false, middle});
  const fs::path second = scratch / "unbroken_again.ckpt";
  // All ranks make the same runs, and only the first knows whether this one is needed.
  const bool on_ranks = find_launch_environment().has_value();
  if (on_ranks) run_session(config, scratch, second, {"unbroken_again", steps, steps});
  if (!is_first_rank()) return true;
  for (const fs::path& file : {whole, again}) forget_times(file);
  out << "verify-resume: " << steps << " steps (unbroken.ckpt), and again with a stop after " << steps / 2
      << " and a new module that was resumed (resumed.ckpt)\n";
  bool equal = ckpt_diff(out, whole, again, kToTheBit);
  const auto tail = rows.end() - static_cast<std::ptrdiff_t>(std::min(rows.size(), rows_again.size()));
  if (!std::equal(tail, rows.end(), rows_again.begin(), rows_again.end())) {
    out << "the rows of metrics.jsonl differ\n";
    equal = false;
  }
  if (equal) return true;
  if (!on_ranks) run_session(config, scratch, second, {"unbroken_again", steps, steps});
  forget_times(second);
  std::ostringstream differences;
  if (ckpt_diff(differences, whole, second, kToTheBit))
    out << "The module, a callback or the data has a state that no checkpoint holds. Keep it in on_save_checkpoint and "
           "take it back in on_load_checkpoint (a loader: state_dict and load_state_dict), register tensors as "
           "buffers, and draw random numbers from LibTorch's default generator or the Rng of `get`.\n";
  else
    out << "Two unbroken runs differ from each other too, so this tells nothing about resuming. On a GPU, some kernels "
           "add in another order each time: set trainer.deterministic to true, and try again. Else the module or the "
           "data takes numbers from outside, such as the time or a generator without a seed.\n";
  return false;
}

namespace {

struct VerifyResumeFlags {
  int64_t steps = LEVIN_OPTION(steps, 20, "Optimizer steps of each training", {.min = 2});
};

int run_verify_resume(const VerifyResumeFlags& flags, const Words& words) {
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "fit", words);
  const SharedFolder folder;
  TrainerOptions of_launch = read_run_options(line.config).trainer;
  of_launch.default_root_dir = folder.path().string();
  if (const std::optional<int> code = launch(of_launch)) return *code;
  return verify_resume(std::cout, line.config, flags.steps) ? 0 : 1;
}

}  // namespace

Command verify_resume_command() {
  return make_command(
      {.name = "verify-resume",
       .summary = "Prove that a run of this config can be stopped and resumed",
       .about =
           R"(Trains this number of steps, and again with a stop in the middle, and compares everything. The exit code is 1 if
anything differs.)",
       .rest = Rest::FitFlags},
      run_verify_resume);
}

}  // namespace levin::cli
