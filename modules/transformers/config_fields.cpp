#include <levin/modules/transformers/config_fields.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace levin::nn {

ConfigFields::ConfigFields(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
  if (!object.is_object()) throw UsageError(place_, "a JSON object was expected");
}

const ConfigFields::Json* ConfigFields::find(const std::string& name) {
  read_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void ConfigFields::throw_for(const std::string& name, const std::string& text) const {
  throw UsageError(place_, name, ": ", text);
}

void ConfigFields::fail_type(const std::string& name, const std::string& expected, const Json& got) const {
  constexpr size_t kShown = 80;
  std::string text = json_text(got);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  fail(name, "expected ", expected, ", got ", text);
}

std::optional<int64_t> ConfigFields::optional_whole(const std::string& name, std::optional<int64_t> if_absent,
                                                    int64_t least) {
  const Json* const value = find(name);
  if (value == nullptr) return object_.contains(name) ? std::nullopt : if_absent;
  // Some files have 32.0 for 32.
  const bool is_whole = value->is_number_integer() ||
                        (value->is_number_float() && std::floor(value->get<double>()) == value->get<double>());
  const double size = value->is_number() ? value->get<double>() : 0;
  if (!is_whole || size < static_cast<double>(least) || size > static_cast<double>(kMostWhole))
    fail_type(name, c10::str("a whole number from ", least, " to ", kMostWhole), *value);
  return static_cast<int64_t>(size);
}

int64_t ConfigFields::whole(const std::string& name, std::optional<int64_t> otherwise, int64_t least, int64_t most) {
  const std::optional<int64_t> value = optional_whole(name, {}, least);
  if (value && *value > most) fail(name, "is ", *value, ", at most ", most, " is possible");
  if (value) return *value;
  if (!otherwise) fail(name, "is missing");
  return *otherwise;
}

std::optional<double> ConfigFields::optional_number(const std::string& name, std::optional<double> if_absent,
                                                    double least) {
  const Json* const value = find(name);
  if (value == nullptr) return object_.contains(name) ? std::nullopt : if_absent;
  const double number = value->is_number() ? value->get<double>() : NAN;
  if (!std::isfinite(number) || number < least) fail_type(name, c10::str("a number of at least ", least), *value);
  return number;
}

double ConfigFields::number(const std::string& name, std::optional<double> otherwise, double least) {
  const std::optional<double> value = optional_number(name, {}, least);
  if (!value && !otherwise) fail(name, "is missing");
  return value ? *value : *otherwise;
}

bool ConfigFields::flag(const std::string& name, bool otherwise) {
  const Json* const value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) fail_type(name, "true or false", *value);
  return value->get<bool>();
}

std::string ConfigFields::word(const std::string& name, std::optional<std::string> otherwise) {
  const Json* const value = find(name);
  if (value == nullptr && !otherwise) fail(name, "is missing");
  if (value == nullptr) return *otherwise;
  if (!value->is_string()) fail_type(name, "a text", *value);
  return value->get<std::string>();
}

std::vector<double> ConfigFields::numbers(const std::string& name) {
  const Json* const value = find(name);
  if (value == nullptr) return {};
  const bool fits = value->is_array() && std::ranges::all_of(*value, [](const Json& item) {
                      return item.is_number() && std::isfinite(item.get<double>());
                    });
  if (!fits) fail_type(name, "a list of numbers", *value);
  return value->get<std::vector<double>>();
}

std::vector<std::string> ConfigFields::words(const std::string& name) {
  const Json* const value = find(name);
  if (value == nullptr) return {};
  if (!value->is_array() || !std::ranges::all_of(*value, [](const Json& item) { return item.is_string(); }))
    fail_type(name, "a list of texts", *value);
  return value->get<std::vector<std::string>>();
}

void ConfigFields::skip(std::string_view names_between_spaces) {
  std::istringstream names{std::string(names_between_spaces)};
  for (std::string name; names >> name;) read_.insert(name);
}

void ConfigFields::require(const std::string& name, const Json& only) {
  const Json* const value = find(name);
  if (value == nullptr || *value == only) return;
  fail(name, "is ", json_text(*value).substr(0, 80), ", which levin does not compute; it computes ", only.dump(),
       " alone");
}

void ConfigFields::check_all_read(const std::vector<std::string>& ignored, const std::string& prefix) const {
  std::string unknown;
  for (const auto& [name, value] : object_.items()) {
    if (value.is_null() || read_.contains(name) || std::ranges::count(ignored, prefix + name) > 0) continue;
    unknown += (unknown.empty() ? "" : ", ") + prefix + name;
  }
  if (unknown.empty()) return;
  throw UsageError(place_, "levin does not know what the fields ", unknown,
                   " change; if they change nothing that is computed, name them in model.ignored_fields");
}

}  // namespace levin::nn
