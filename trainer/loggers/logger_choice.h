#pragma once
#include <levin/core/options/class_choice.h>

#include <concepts>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin {

class Logger;
struct LoggerKind;

/// The loggers of a run, like PyTorch Lightning's `logger`: true (CSVLogger and JSONLinesLogger), false (none), or a
/// list of names, each with its options. In C++ also logger objects: one, `options.logger =
/// std::make_shared<MyLogger>()`, or several, `options.logger = {{first, second}}`.
class LoggerChoice {
 public:
  using Parts = std::vector<ClassChoice<LoggerKind>>;

  /// Unset, which means true.
  LoggerChoice() = default;
  template <std::same_as<bool> B>
  LoggerChoice(B on) : mode_(on ? Mode::Default : Mode::None) {}
  LoggerChoice(Parts by_name);
  /// One logger by name.
  LoggerChoice(const char* name) : LoggerChoice(Parts{ClassChoice<LoggerKind>(name)}) {}
  LoggerChoice(std::vector<std::shared_ptr<Logger>> loggers);
  /// One logger.
  template <std::derived_from<Logger> L>
  LoggerChoice(std::shared_ptr<L> logger) : LoggerChoice(std::vector<std::shared_ptr<Logger>>{std::move(logger)}) {}

  bool is_set() const { return mode_ != Mode::Unset; }
  /// Returns false if there is no logger.
  bool is_on() const { return mode_ != Mode::None; }
  /// Describes the files that the loggers write into the run's folder: "metrics.csv".
  std::vector<std::string> files() const;
  /// Returns the loggers of a run; loggers given by name are created for its folder. One that cannot be created, on a
  /// full disk for example, is left out with a warning; options that are wrong throw UsageError.
  std::vector<std::shared_ptr<Logger>> make(const std::filesystem::path& folder) const;

 private:
  friend class LoggerChoiceType;
  enum class Mode { Unset, None, Default, Chosen };
  Mode mode_ = Mode::Unset;
  Parts parts_ = {};
  std::vector<std::shared_ptr<Logger>> given_ = {};
};

LEVIN_DECLARE_OPTION_TYPE(LoggerChoice);

}  // namespace levin
