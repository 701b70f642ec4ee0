#pragma once
#include <levin/core/options/metric_mode.h>
#include <levin/trainer/run_folder/run_request.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace levin::runs {

/// The values of one metric in the order in which they were logged; the three lists have one length.
struct Series {
  std::vector<int64_t> steps = {};
  std::vector<double> seconds = {};  ///< of the run
  std::vector<double> values = {};   ///< NaN and infinite ones too
};

/// A metric that a run can be judged by.
struct Monitor {
  std::string metric = {};
  MetricMode mode = MetricMode::Min;
};

/// Returns what a config's callback monitors; nothing if it is no ModelCheckpoint, or monitors nothing.
std::optional<Monitor> monitor_of(const nlohmann::ordered_json& callback);

/// The value of a monitor.
struct Best {
  Monitor monitor = {};
  double value = 0;
  int64_t step = 0;
};

struct CheckpointFile {
  std::string name = {};  ///< in the run's folder, as "checkpoints/last.ckpt"
  uintmax_t bytes = 0;    ///< with those of its parts, if it is sharded
  bool is_link = false;   ///< to a file that may belong to another run
};

/// What ClassificationReport wrote last in a stage.
struct Classification {
  nlohmann::ordered_json json = nullptr;             ///< of classification/<stage>.json: "matrix", "samples", ...
  std::map<std::string, std::string> pictures = {};  ///< bytes of PNG files, by "samples" and "mistakes"
};

/// What the folder of a run tells: of one that has ended, of one that still runs, and of one whose process died.
struct RecordedRun {
  std::filesystem::path folder = {};
  std::string status = {};                   ///< "running", "killed", or that of summary.json: "completed", ...
  bool is_paused = false;                    ///< it runs, and stands still
  RunRequest request = RunRequest::None;     ///< what is asked of a run that runs
  nlohmann::ordered_json config = nullptr;   ///< null if it is missing or damaged
  nlohmann::ordered_json summary = nullptr;  ///< null unless the run has ended
  nlohmann::ordered_json sessions = nlohmann::ordered_json::array();  ///< of environment.json: where each session ran
  std::vector<Classification> classifications = {};                   ///< of validation and test, as far as there are
  std::pair<std::string, std::string> sample_picture = {};  ///< the newest PNG file of SampleImages: name and bytes
  nlohmann::ordered_json sample_texts = nullptr;  ///< the newest file of SampleText: "name", "texts"; null: none
  std::map<std::string, Series> metrics = {};     ///< by name
  int64_t epoch = 0, step = 0;                    ///< of the newest row
  double seconds = 0;                             ///< of the run, at the newest row
  std::filesystem::file_time_type changed =
      std::filesystem::file_time_type::min();  ///< when something was last written to the folder
  std::vector<CheckpointFile> checkpoints = {};
  std::vector<std::string> problems = {};  ///< what could not be read, for people
  bool is_unread = false;                  ///< the system did not read a file that may well be whole

  /// Returns the status for people, with what a viewer has asked: "running", "paused", "running, pauses soon", ...
  std::string shown_status() const;
  /// Returns an option of the trainer, as its config has it; null if it is not there.
  nlohmann::ordered_json option(const char* name) const;
  /// Returns the last value of a metric.
  std::optional<double> last(const std::string& metric) const;
  /// Returns the best value of `monitor`; nullopt if it was never logged as a finite number.
  std::optional<Best> best(const Monitor& monitor) const;
  /// Returns the best value of `monitor()`.
  std::optional<Best> best() const;
  /// Returns the monitor of the run's ModelCheckpoint, else val_loss, else train_loss; of these the first that was
  /// logged.
  std::optional<Monitor> monitor() const;
};

/// Returns {"metric", "value", "step"}; null without a value.
nlohmann::ordered_json best_json(const std::optional<Best>& best);

/// Reads metrics.jsonl, else metrics.csv, and the files beside it. What is missing, cut off or damaged, or a link in
/// place of a file, is left out, and is told in `problems`. Throws levin::UsageError if the folder is none of a run.
RecordedRun read_run(const std::filesystem::path& folder);

}  // namespace levin::runs
