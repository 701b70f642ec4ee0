#include <levin/trainer/loggers/logger_collection.h>
#include <levin/core/run/profiler.h>
#include <levin/core/system/console.h>
#include <levin/trainer/loggers/logged_tensors.h>
#include <levin/trainer/loggers/row_file.h>

#include <exception>
#include <map>
#include <optional>
#include <utility>

namespace levin {
namespace {

/// Returns the name of a logger that may throw even at that.
std::string name_of(const Logger& logger) {
  try {
    return logger.name();
  } catch (...) {
    return "a logger";
  }
}

}  // namespace

LoggerCollection::LoggerCollection(std::vector<std::shared_ptr<Logger>> loggers, Profiler* profiler)
    : profiler_(profiler) {
  for (auto& logger : loggers) entries_.push_back({std::move(logger)});
}

void LoggerCollection::guarded(const Entry& entry, const std::function<void(Logger&)>& call) {
  const auto failed = [&](const std::string& reason) {
    if (std::exchange(entry.has_failed, true)) return;
    console::warn(name_of(*entry.logger) + " fails: " + reason +
                  "; the run continues without what this logger cannot write, and says so once");
  };
  try {
    call(*entry.logger);
  } catch (const std::exception& error) {
    failed(error.what());
  } catch (...) {
    failed("an exception that is no std::exception");
  }
}

void LoggerCollection::each(const std::function<void(Logger&)>& call) const {
  for (const Entry& entry : entries_) guarded(entry, call);
}

void LoggerCollection::log_metrics(const Metrics& values, const LogRow& where) {
  if (empty()) return;
  check_metric_names(values);
  each([&](Logger& logger) {
    std::optional<ProfileSpan> span;
    if (profiler_ != nullptr) span.emplace(profiler_, "[Logger]" + logger.name() + ".log_metrics");
    logger.log_metrics(values, where);
  });
}

void LoggerCollection::log_hyperparameters(const std::string& json) {
  each([&](Logger& logger) { logger.log_hyperparameters(json); });
}

void LoggerCollection::log_graph(LightningModule& module) {
  each([&](Logger& logger) { logger.log_graph(module); });
}

void LoggerCollection::log_image(const std::string& name, const at::Tensor& image, const LogRow& where) {
  check_image(name, image);
  if (empty()) return;
  const at::Tensor bytes = image_bytes(name, image);
  each([&](Logger& logger) { logger.log_image(name, bytes, where); });
}

void LoggerCollection::log_histogram(const std::string& name, const at::Tensor& values, const LogRow& where) {
  check_histogram(name, values);
  each([&](Logger& logger) { logger.log_histogram(name, values, where); });
}

void LoggerCollection::log_text(const std::string& name, const std::string& text, const LogRow& where) {
  each([&](Logger& logger) { logger.log_text(name, text, where); });
}

void LoggerCollection::log_artifact(const std::filesystem::path& file, const std::string& folder) {
  each([&](Logger& logger) { logger.log_artifact(file, folder); });
}

void LoggerCollection::log_exception(const std::string& message) {
  each([&](Logger& logger) { logger.log_exception(message); });
}

void LoggerCollection::finalize(const std::string& status) {
  each([&](Logger& logger) { logger.finalize(status); });
}

State LoggerCollection::state_dict() const {
  State states = State::list();
  for (const Entry& entry : entries_) {
    State state;
    guarded(entry, [&](Logger& logger) { state = logger.state_dict(); });
    states.push_back(State::dict({{"class", name_of(*entry.logger)}, {"state", std::move(state)}}));
  }
  return states;
}

void LoggerCollection::load_state_dict(const State& states) {
  std::map<std::string, size_t> taken;  // of each class, how many states were looked at
  for (const Entry& entry : entries_) {
    const std::string name = name_of(*entry.logger);
    for (size_t& i = taken[name]; i < states.size();) {
      const State& saved = states.items()[i++];
      if (saved.at("class").to_string() != name) continue;
      const State& state = saved.at("state");
      if (!state.is_none()) guarded(entry, [&](Logger& logger) { logger.load_state_dict(state); });
      break;
    }
  }
}

}  // namespace levin
