#pragma once
#include <levin/core/options/option.h>
#include <levin/trainer/loggers/event_file.h>
#include <levin/trainer/loggers/logger.h>

#include <filesystem>
#include <string>

namespace levin {

struct TensorBoardLoggerOptions {
  bool log_graph = LEVIN_OPTION(log_graph, false, "Write the module's graph; example_input of the module gives shapes");
};

/// Writes TensorBoard's event files into the run's folder: each metric and the epoch as scalars, images, histograms,
/// texts, the module's graph, and the hyperparameters as text and for the HPARAMS page, where the last value of each
/// metric stands beside them. `tensorboard --logdir <default_root_dir>` shows them.
///
/// A resumed run starts another event file; TensorBoard hides the older file's events from that step on.
class TensorBoardLogger final : public Logger {
 public:
  using Options = TensorBoardLoggerOptions;

  /// Throws levin::Error if no file can be written in `folder`.
  explicit TensorBoardLogger(const std::filesystem::path& folder, const TensorBoardLoggerOptions& options = {});

  std::string name() const override { return "TensorBoardLogger"; }
  void log_metrics(const Metrics& values, const LogRow& where) override;
  void log_hyperparameters(const std::string& json) override;
  void log_graph(LightningModule& module) override;
  void log_image(const std::string& name, const at::Tensor& image, const LogRow& where) override;
  void log_histogram(const std::string& name, const at::Tensor& values, const LogRow& where) override;
  void log_text(const std::string& name, const std::string& text, const LogRow& where) override;
  void finalize(const std::string& status) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  TensorBoardLoggerOptions options_;
  EventFile file_;
  bool session_open_ = false;  ///< a session of the HPARAMS page is open
  int64_t step_ = 0;           ///< of the newest row
};

}  // namespace levin
