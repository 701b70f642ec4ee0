#include <levin/trainer/loggers/logger_choice.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/console.h>
#include <levin/trainer/loggers/registry.h>

#include <exception>

namespace levin {
namespace {

/// The loggers that `true` selects.
const LoggerChoice::Parts& default_parts() {
  static const LoggerChoice::Parts parts = {"CSVLogger", "JSONLinesLogger"};
  return parts;
}

}  // namespace

LoggerChoice::LoggerChoice(Parts parts) : mode_(parts.empty() ? Mode::None : Mode::Chosen), parts_(std::move(parts)) {}

LoggerChoice::LoggerChoice(std::vector<std::shared_ptr<Logger>> loggers)
    : mode_(loggers.empty() ? Mode::None : Mode::Chosen), given_(std::move(loggers)) {
  for (const auto& logger : given_)
    if (!logger) throw UsageError("trainer.logger: expected a logger, got a null pointer");
}

std::vector<std::shared_ptr<Logger>> LoggerChoice::make(const std::filesystem::path& folder) const {
  std::vector<std::shared_ptr<Logger>> made = given_;
  if (mode_ == Mode::None) return made;
  const Parts& parts = mode_ == Mode::Chosen ? parts_ : default_parts();
  for (size_t i = 0; i < parts.size(); ++i) {
    try {
      made.push_back(parts[i].make("trainer.logger[" + std::to_string(i) + "]", folder));
    } catch (const UsageError&) {
      throw;
    } catch (const std::exception& error) {
      console::warn(parts[i].class_name() + " cannot be made: " + error.what() + "; the run continues without it");
    }
  }
  return made;
}

std::vector<std::string> LoggerChoice::files() const {
  std::vector<std::string> files;
  for (const auto& logger : given_) files.push_back("what " + logger->name() + " writes");
  if (mode_ == Mode::None) return files;
  for (const auto& part : mode_ == Mode::Chosen ? parts_ : default_parts())
    files.push_back(LoggerKind::registry().at(part.class_name(), "trainer.logger").help);
  return files;
}

/// The option type of a list of classes that may also be true, false or a single class. Logger objects are shown by
/// their names.
class LoggerChoiceType : public OptionType {
 public:
  std::string expected() const override { return "true, false, or " + parts_.expected(); }
  const ClassList* classes() const override { return &LoggerKind::registry(); }
  const OptionType* item() const override { return parts_.item(); }
  bool is_list() const override { return true; }
  bool is_switch() const override { return true; }
  Json from_text(const std::string& text) const override { return json_or_text(text); }

  Json get(const void* value) const override {
    const auto& choice = *static_cast<const LoggerChoice*>(value);
    using Mode = LoggerChoice::Mode;
    if (choice.mode_ == Mode::Unset) return nullptr;
    if (choice.mode_ != Mode::Chosen) return choice.mode_ == Mode::Default;
    Json list = Json::array();
    for (const auto& logger : choice.given_) list.push_back({{"class", logger->name()}});
    for (Json& part : Json(parts_.get(&choice.parts_))) list.push_back(std::move(part));
    return list;
  }

  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override {
    auto& choice = *static_cast<LoggerChoice*>(value);
    if (json.is_null()) {
      choice = LoggerChoice();
    } else if (json.is_boolean()) {
      choice = LoggerChoice(json.get<bool>());
    } else {
      LoggerChoice::Parts parts;
      parts_.set(&parts, path, json.is_array() ? json : Json::array({json}), limits);
      choice = LoggerChoice(std::move(parts));
    }
  }

  void check(const void* value, const std::string& path, const Limits& limits) const override {
    parts_.check(&static_cast<const LoggerChoice*>(value)->parts_, path, limits);
  }

 private:
  const OptionType& parts_ = OptionTraits<LoggerChoice::Parts>::type();
};

const OptionType& OptionTraits<LoggerChoice>::type() {
  static const LoggerChoiceType type;
  return type;
}

}  // namespace levin
