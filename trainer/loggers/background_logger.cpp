#include <levin/trainer/loggers/background_logger.h>
#include <levin/core/system/error.h>

#include <utility>

namespace levin {
namespace {

std::shared_ptr<Logger> checked(std::shared_ptr<Logger> logger) {
  if (!logger) throw UsageError("BackgroundLogger: expected a logger, got a null pointer");
  return logger;
}

}  // namespace

BackgroundLogger::BackgroundLogger(std::shared_ptr<Logger> logger, double patience_seconds)
    : logger_(checked(std::move(logger))), name_(logger_->name()), patience_seconds_(patience_seconds), tasks_(1024) {}

void BackgroundLogger::add(std::function<void(Logger&)> call) {
  const bool added = tasks_.add([logger = logger_, call = std::move(call)] { call(*logger); });
  tasks_.rethrow();
  if (!added) throw Error("it does not keep up: 1024 calls wait for it, and new ones are dropped");
}

void BackgroundLogger::log_metrics(const Metrics& values, const LogRow& where) {
  add([values, where](Logger& logger) { logger.log_metrics(values, where); });
}

void BackgroundLogger::log_hyperparameters(const std::string& json) {
  add([json](Logger& logger) { logger.log_hyperparameters(json); });
}

void BackgroundLogger::log_image(const std::string& name, const at::Tensor& image, const LogRow& where) {
  add([name, copy = image.detach().to(at::kCPU).clone(), where](Logger& logger) {
    logger.log_image(name, copy, where);
  });
}

void BackgroundLogger::log_histogram(const std::string& name, const at::Tensor& values, const LogRow& where) {
  add([name, copy = values.detach().to(at::kCPU).clone(), where](Logger& logger) {
    logger.log_histogram(name, copy, where);
  });
}

void BackgroundLogger::log_text(const std::string& name, const std::string& text, const LogRow& where) {
  add([name, text, where](Logger& logger) { logger.log_text(name, text, where); });
}

void BackgroundLogger::log_artifact(const std::filesystem::path& file, const std::string& folder) {
  add([file, folder](Logger& logger) { logger.log_artifact(file, folder); });
}

void BackgroundLogger::log_exception(const std::string& message) {
  add([message](Logger& logger) { logger.log_exception(message); });
}

void BackgroundLogger::finalize(const std::string& status) {
  add([status](Logger& logger) { logger.finalize(status); });
  const bool done = tasks_.wait(patience_seconds_);
  tasks_.rethrow();
  if (!done) throw Error("it was still busy ", patience_seconds_, " s after the end; what waits for it is dropped");
}

}  // namespace levin
