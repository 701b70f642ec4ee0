#pragma once
#include <levin/callbacks/callback.h>
#include <levin/callbacks/step_follower.h>
#include <levin/core/options/duration.h>
#include <levin/core/options/metric_mode.h>
#include <levin/core/options/option.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

struct ModelCheckpointOptions {
  std::string dirpath = LEVIN_OPTION(
      dirpath, "", "Folder of the files, or s3://, gs:// for copies there; empty: checkpoints in the run's folder");
  std::string filename = LEVIN_OPTION(filename, "{epoch}-{step}", "Name of the files, such as {epoch}-{val_loss:.2f}");
  std::optional<std::string> monitor =
      LEVIN_OPTION(monitor, {}, "Metric that says which are the best; unset: the newest is kept");
  bool verbose = LEVIN_OPTION(verbose, false, "Print each save");
  bool save_last = LEVIN_OPTION(save_last, false, "Also keep the newest as last.ckpt");
  int64_t save_top_k = LEVIN_OPTION(save_top_k, 1, "How many of the best are kept; -1: all, 0: none", {.min = -1});
  bool save_on_exception = LEVIN_OPTION(save_on_exception, false, "Save when an exception ends the run");
  bool save_weights_only =
      LEVIN_OPTION(save_weights_only, false, "Save the weights alone, without what resuming needs");
  Choice<MetricMode> mode = LEVIN_OPTION(mode, MetricMode::Min, "min: lower is better; max: higher is better");
  bool auto_insert_metric_name =
      LEVIN_OPTION(auto_insert_metric_name, true, "{epoch} in filename becomes epoch=3, not 3");
  std::optional<int64_t> every_n_train_steps =
      LEVIN_OPTION(every_n_train_steps, {}, "Save every n optimizer steps", {.min = 0});
  std::optional<Duration> train_time_interval = LEVIN_OPTION(train_time_interval, {}, "Save after so much time");
  std::optional<int64_t> every_n_epochs = LEVIN_OPTION(every_n_epochs, {}, "Save every n epochs", {.min = 0});
  std::optional<bool> save_on_train_epoch_end =
      LEVIN_OPTION(save_on_train_epoch_end, {}, "Save at the end of train epochs; false: after validations");
  bool enable_version_counter =
      LEVIN_OPTION(enable_version_counter, true, "Add -v1 to a name that is taken; false: replace the file");
};

/// Saves checkpoints during training, and keeps the best of them.
///
/// Without a trigger (every_n_train_steps, every_n_epochs, train_time_interval) it saves at the end of each epoch, or
/// after each validation if validation does not run once per epoch. Without `monitor` the newest checkpoint is kept. An
/// old file is removed only when the file that replaces it is complete; the checkpoint that a run was resumed from is
/// never removed. If several write to one folder, each has files of its own: a name that another one holds gets -v1,
/// and the second last.ckpt is last-v1.ckpt. If dirpath is a folder of a bucket, the files are written to the run's
/// folder, and a copy of each goes to the bucket, by the thread that writes them.
/// Source: lightning.pytorch.callbacks.ModelCheckpoint
class ModelCheckpoint : public Callback, public StepFollower {
 public:
  using Options = ModelCheckpointOptions;

  ModelCheckpoint() : ModelCheckpoint(ModelCheckpointOptions()) {}
  /// Throws UsageError for bad options.
  explicit ModelCheckpoint(ModelCheckpointOptions options);

  void on_fit_start(Run& run) override;
  void on_train_start(Run& run) override;
  void on_train_batch_end(Run& run) override;
  void on_train_epoch_end(Run& run) override;
  /// Saves if the number of steps or the time asks for it.
  void after_step(Run& run) override;
  void on_validation_end(Run& run) override;
  void on_train_end(Run& run) override;
  /// Warns if the metric never came, so that no file could be among the best.
  void on_fit_end(Run& run) override;
  void on_exception(Run& run, const std::exception& error) override;
  bool is_monitoring() const override { return true; }

  /// The state key, and the keys in the state, are PyTorch Lightning's.
  std::string state_key() const override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

  /// Returns the best file (without monitor, the newest); empty before the first save.
  const std::filesystem::path& best_model_path() const { return best_model_path_; }
  /// Returns the metric of the best file; unset before the first save and without monitor.
  std::optional<double> best_model_score() const { return best_model_score_; }
  /// Returns the folder of a bucket that gets copies of the run's checkpoints, of the first ModelCheckpoint that has
  /// one; empty if none has.
  static std::string upload_folder(Run& run);
  /// Returns the path of last.ckpt, once that has been requested.
  const std::filesystem::path& last_model_path() const { return last_model_path_; }
  const ModelCheckpointOptions& options() const { return options_; }

 private:
  using Scored = std::pair<std::filesystem::path, double>;

  bool saves_train_epochs(Run& run) const;
  bool every_epoch(Run& run) const;
  bool saved_already(Run& run) const;
  /// Returns whether last.ckpt is older than the newest file of the run that was resumed, whose process ended between
  /// the two, and nothing has been saved since. All ranks call it.
  bool last_is_behind(Run& run) const;
  void save(Run& run);
  /// Returns the file to save to and sets the files that it replaces; nothing if the checkpoint is not among the best.
  std::optional<std::filesystem::path> place(Run& run, std::vector<std::filesystem::path>& replaced);
  std::optional<std::filesystem::path> place_scored(Run& run, double score,
                                                    std::vector<std::filesystem::path>& replaced);
  std::filesystem::path new_path(Run& run, const std::vector<std::filesystem::path>& replaced) const;
  bool is_uploading() const;
  /// Returns the folder of a bucket that gets copies; empty: none.
  std::string upload_to() const;
  /// Returns whether a copy with the name of this file is in the bucket.
  bool is_uploaded(const std::filesystem::path& path) const;
  /// Returns the run's savers, in the order in which they are called.
  static std::vector<const ModelCheckpoint*> savers_of(Run& run);
  /// Returns whether this saver's state names the file.
  bool holds(const std::filesystem::path& path) const;
  /// Returns whether a saver of the run holds the file, which may not be written yet.
  bool is_held(Run& run, const std::filesystem::path& path) const;
  /// Returns false for a file that another saver holds, and for the checkpoint that the run was resumed from, under any
  /// name: it belongs to the user.
  bool may_replace(Run& run, const std::filesystem::path& path) const;
  /// Returns the path of the newest file: last.ckpt, or last-v1.ckpt for a second saver of the folder.
  std::filesystem::path last_path(Run& run) const;
  const Scored& worst() const;

  ModelCheckpointOptions options_;
  std::filesystem::path folder_ = {};
  std::vector<Scored> best_k_models_ = {};
  std::filesystem::path best_model_path_ = {}, last_model_path_ = {};
  std::optional<double> best_model_score_ = {}, current_score_ = {};
  std::string loaded_folder_ = {};  ///< folder of a loaded state, until the run's folder is known
  int64_t saved_step_ = 0;  ///< global_step of the newest save; its initial 0 prevents a save before the first step
  bool waits_for_validation_ = false, has_saved_ = false;
  std::chrono::steady_clock::time_point looked_at_clock_ = {};
};

}  // namespace levin
