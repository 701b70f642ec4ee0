#pragma once
#include <levin/core/options/option.h>
#include <levin/core/options/text_table.h>
#include <levin/trainer/loggers/background_tasks.h>
#include <levin/trainer/loggers/logger.h>

#include <filesystem>
#include <memory>
#include <string>

namespace levin {

class MLflowSender;

struct MLflowLoggerOptions {
  std::string experiment_name = LEVIN_OPTION(experiment_name, "lightning_logs", "Experiment; made if there is none");
  std::string run_name = LEVIN_OPTION(run_name, "", "Name of the run; empty: the server chooses one");
  std::string tracking_uri =
      LEVIN_OPTION(tracking_uri, "", "The server, such as http://127.0.0.1:5000; empty: MLFLOW_TRACKING_URI");
  TextTable tags = LEVIN_OPTION(tags, {}, "Tags of the run, by name");
  std::string prefix = LEVIN_OPTION(prefix, "", "Text before the name of each metric, with a dash between");
  std::string artifact_location = LEVIN_OPTION(
      artifact_location, "", "Where an experiment that is made keeps artifacts; empty: the server chooses");
  std::string run_id = LEVIN_OPTION(run_id, "", "A run of the server to log to; empty: a new one");
  bool log_model = LEVIN_OPTION(log_model, false, "Store the checkpoints as artifacts at the end of the fit");
  double timeout_seconds =
      LEVIN_OPTION(timeout_seconds, 10, "Seconds after which a server that does not answer counts as away",
                   {.max = 3600, .exclusive_min = 0});
};

/// Logs to an MLflow tracking server by its REST API: metrics, hyperparameters as parameters, tags, texts, images and
/// files as artifacts, and the status.
///
/// All of it goes to a queue in the run's folder first, and to the server by a thread, once a second. While the server
/// is away, training goes on and the queue grows; it is sent later: in the same run, when the run is resumed, or by the
/// next run that starts beside it. A resumed run continues the same MLflow run.
class MLflowLogger final : public Logger {
 public:
  using Options = MLflowLoggerOptions;

  /// Throws UsageError for bad options, and levin::Error if the queue cannot be written.
  MLflowLogger(const std::filesystem::path& folder, const MLflowLoggerOptions& options);
  ~MLflowLogger() override;

  std::string name() const override { return "MLflowLogger"; }
  void log_metrics(const Metrics& values, const LogRow& where) override;
  void log_hyperparameters(const std::string& json) override;
  /// Stores the image as `images/<name>/step=<step>.png`.
  void log_image(const std::string& name, const at::Tensor& image, const LogRow& where) override;
  /// Stores the text as `texts/<name>/step=<step>.md`.
  void log_text(const std::string& name, const std::string& text, const LogRow& where) override;
  void log_artifact(const std::filesystem::path& file, const std::string& folder) override;
  void log_exception(const std::string& message) override;
  /// Waits until the server has everything, unless it is away.
  void finalize(const std::string& status) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

  /// Returns the id of the run on the server; empty until the server has made it.
  std::string run_id() const;

 private:
  void wake();
  void log_checkpoints();

  MLflowLoggerOptions options_;
  std::filesystem::path folder_;
  std::shared_ptr<MLflowSender> sender_;
  std::unique_ptr<BackgroundTasks> tasks_;
};

}  // namespace levin
