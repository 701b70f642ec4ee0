#pragma once
#include <levin/trainer/loggers/event_file.h>
#include <levin/trainer/loggers/logger.h>

#include <filesystem>
#include <string>

namespace levin {

/// Writes TensorBoard's event files into the run's folder: each metric and the epoch as scalars, the hyperparameters as
/// text and for the HPARAMS page. `tensorboard --logdir <default_root_dir>` shows them.
///
/// A resumed run starts another event file; TensorBoard hides the older file's events from that step on.
class TensorBoardLogger final : public Logger {
 public:
  /// Throws levin::Error if no file can be written in `folder`.
  explicit TensorBoardLogger(const std::filesystem::path& folder);

  std::string name() const override { return "TensorBoardLogger"; }
  void log_metrics(const Metrics& values, const LogRow& where) override;
  void log_hyperparameters(const std::string& json) override;
  /// Writes a text (Markdown) under a name.
  void log_text(const std::string& name, const std::string& text, int64_t step);
  void finalize(const std::string& status) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  EventFile file_;
  bool session_open_ = false;  ///< a session of the HPARAMS page is open
  int64_t step_ = 0;           ///< of the newest row
};

}  // namespace levin
