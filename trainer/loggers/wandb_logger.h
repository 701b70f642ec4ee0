#pragma once
#include <levin/core/options/option.h>
#include <levin/trainer/loggers/logger.h>
#include <levin/trainer/loggers/wandb_file.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace levin {

struct WandbLoggerOptions {
  std::string project = LEVIN_OPTION(project, "lightning_logs", "Project of the run");
  std::string name = LEVIN_OPTION(name, "", "Name of the run; empty: its id");
  std::string id = LEVIN_OPTION(id, "", "Id of the run, letters, digits, _ and -; empty: a random one");
  std::string entity = LEVIN_OPTION(entity, "", "User or team of the project; empty: who syncs it");
  std::string group = LEVIN_OPTION(group, "", "Group of runs that this one belongs to");
  std::string job_type = LEVIN_OPTION(job_type, "", "Kind of work, such as train");
  std::vector<std::string> tags = LEVIN_OPTION(tags, {}, "Tags of the run");
  std::string notes = LEVIN_OPTION(notes, "", "What the run is about");
  std::string prefix = LEVIN_OPTION(prefix, "", "Text before the name of each metric, with a dash between");
};

/// Writes an offline run of Weights & Biases, `wandb/offline-run-<time>-<id>` in the run's folder: metrics and
/// hyperparameters. `wandb sync <that folder>`, a command of the package wandb, sends it to the server. Nothing is sent
/// by levin.
///
/// A resumed run continues in the same file, cut back to the checkpoint.
class WandbLogger final : public Logger {
 public:
  using Options = WandbLoggerOptions;

  /// Throws UsageError for bad options, and levin::Error if the file cannot be written.
  WandbLogger(const std::filesystem::path& folder, const WandbLoggerOptions& options);

  std::string name() const override { return "WandbLogger"; }
  void log_metrics(const Metrics& values, const LogRow& where) override;
  void log_hyperparameters(const std::string& json) override;
  void finalize(const std::string& status) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

  /// Returns the folder that `wandb sync` takes.
  std::filesystem::path sync_folder() const { return file_.path().parent_path(); }

 private:
  void add(int field, const WireMessage& content);
  void add_run(const std::string& hyperparameters);

  WandbLoggerOptions options_;
  WandbFile file_;
  std::string id_;
  int64_t rows_ = 0;
};

}  // namespace levin
