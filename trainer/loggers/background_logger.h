#pragma once
#include <levin/trainer/loggers/background_tasks.h>
#include <levin/trainer/loggers/logger.h>

#include <functional>
#include <memory>
#include <string>

namespace levin {

/// Runs another logger on a thread of its own, so that one which waits, for a network or for a disk that is away, does
/// not hold the training. At most 1024 calls wait; if more come, they are dropped, and the run says so once.
///
///     options.logger = {{std::make_shared<levin::BackgroundLogger>(std::make_shared<MyLogger>())}};
///
/// Tensors are copied. The logger has no position in checkpoints, and gets no graph: the module trains meanwhile.
class BackgroundLogger final : public Logger {
 public:
  /// `patience_seconds`: how long the end of a fit waits for calls that are still to be made; those left then are
  /// dropped.
  explicit BackgroundLogger(std::shared_ptr<Logger> logger, double patience_seconds = 10);

  std::string name() const override { return name_; }
  void log_metrics(const Metrics& values, const LogRow& where) override;
  void log_hyperparameters(const std::string& json) override;
  void log_image(const std::string& name, const at::Tensor& image, const LogRow& where) override;
  void log_histogram(const std::string& name, const at::Tensor& values, const LogRow& where) override;
  void log_text(const std::string& name, const std::string& text, const LogRow& where) override;
  void log_artifact(const std::filesystem::path& file, const std::string& folder) override;
  void log_exception(const std::string& message) override;
  void finalize(const std::string& status) override;

 private:
  void add(std::function<void(Logger&)> call);

  std::shared_ptr<Logger> logger_;
  std::string name_;
  double patience_seconds_;
  BackgroundTasks tasks_;
};

}  // namespace levin
