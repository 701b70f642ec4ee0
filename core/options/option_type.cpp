#include <levin/core/options/option.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

namespace levin {
namespace {

/// Writes 3 instead of 3.0, and 0.001 as it is.
std::string number_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return std::to_string(static_cast<int64_t>(value));
  return Json(value).dump();
}

std::string joined_choices(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + (word.empty() ? "\"\"" : word);
  return text;
}

std::optional<bool> parse_bool(const Json& json) {
  if (!json.is_boolean()) return {};
  return json.get<bool>();
}

Json bool_from_text(const std::string& text) {
  for (const char* word : {"true", "yes", "on", "1"})
    if (text == word) return true;
  for (const char* word : {"false", "no", "off", "0"})
    if (text == word) return false;
  return text;
}

std::optional<int64_t> parse_int(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<uint64_t>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return {};
    return static_cast<int64_t>(value);
  }
  if (json.is_number_integer()) return json.get<int64_t>();
  // 1e6 is a float in JSON, but its author means a count.
  if (json.is_number_float() && std::abs(json.get<double>()) < 9e15 && std::floor(json.get<double>()) == json)
    return static_cast<int64_t>(json.get<double>());
  return {};
}

std::optional<double> parse_double(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return {};
}

/// Writes infinity as text, since JSON has no infinity.
Json write_double(const double& value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json double_from_text(const std::string& text) {
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double value = 0;
  if (stream >> value && stream.peek() == std::istringstream::traits_type::eof()) {
    const Json json = json_or_text(text);
    return json.is_number() ? json : Json(value);
  }
  return json_or_text(text);
}

std::optional<std::string> parse_string(const Json& json) {
  if (!json.is_string()) return {};
  return json.get<std::string>();
}

/// Rejects JSON that the library would accept but nobody means: a key that occurs twice in one object, where the
/// library silently takes one of the values, and unlimited nesting.
class RefuseDoubtful {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& value) {
    constexpr int kMaxLevels = 64;
    if (depth > kMaxLevels) throw UsageError("expected at most ", kMaxLevels, " levels of lists and objects");
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key && !keys_.back().insert(value.get<std::string>()).second)
      throw UsageError("the key ", value.dump(), " stands twice in one object");
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_ = {};
};

template <class T>
Json write_plain(const T& value) {
  return value;
}

}  // namespace

Json json_or_text(const std::string& text) {
  Json json = Json::parse(text, RefuseDoubtful(), /*allow_exceptions=*/false);
  return json.is_discarded() || json.is_string() ? Json(text) : json;
}

void throw_unexpected(const std::string& path, const std::string& expected, const Json& got) {
  constexpr size_t kShown = 100;
  std::string text = got.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  // As Python writes them.
  const char* hint = text == "\"True\"" ? " (did you mean true?)" : text == "\"False\"" ? " (did you mean false?)" : "";
  throw UsageError(path, ": expected ", expected, ", got ", text, hint);
}

std::string Limits::to_text() const {
  if (!choices.empty()) return "one of " + joined_choices(choices);
  std::string text;
  const auto add = [&text](const char* words, const std::optional<double>& bound) {
    if (bound) text += (text.empty() ? "" : " and ") + std::string(words) + " " + number_text(*bound);
  };
  add("at least", min);
  add("more than", exclusive_min);
  add("at most", max);
  add("less than", exclusive_max);
  return text;
}

void Limits::check(const std::string& path, const Json& value) const {
  if (value.is_string() && !choices.empty()) {
    const auto text = value.get<std::string>();
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return;
    throw UsageError(path, ": expected ", to_text(), ", got ", value.dump(), did_you_mean(text, choices));
  }
  const std::optional<double> number = parse_double(value);
  if (!number) return;
  // NaN is inside no bound: each comparison must be true.
  const bool inside = (!min || *number >= *min) && (!exclusive_min || *number > *exclusive_min) &&
                      (!max || *number <= *max) && (!exclusive_max || *number < *exclusive_max);
  if (!inside) throw_unexpected(path, to_text(), value);
}

void OptionType::check(const void* value, const std::string& path, const Limits& limits) const {
  limits.check(path, get(value));
}

Json OptionType::from_text(const std::string& text) const { return json_or_text(text); }

Json OptionType::json_schema() const { return Json::object(); }

const OptionType& OptionTraits<bool>::type() {
  static const ValueType<bool> type("true or false", parse_bool, write_plain, bool_from_text, /*is_switch=*/true,
                                    R"({"type": "boolean"})");
  return type;
}

const OptionType& OptionTraits<int64_t>::type() {
  static const ValueType<int64_t> type("a whole number", parse_int, write_plain, json_or_text, /*is_switch=*/false,
                                       R"({"type": "integer"})");
  return type;
}

const OptionType& OptionTraits<double>::type() {
  static const ValueType<double> type("a number", parse_double, write_double, double_from_text, /*is_switch=*/false,
                                      R"({"type": ["number", "string"], "pattern": "^-?inf$"})");
  return type;
}

const OptionType& OptionTraits<std::string>::type() {
  static const ValueType<std::string> type(
      "text", parse_string, write_plain, [](const std::string& text) { return Json(text); }, /*is_switch=*/false,
      R"({"type": "string"})");
  return type;
}

std::string OptionalType::expected() const { return item_.expected(); }

Json OptionalType::get(const void* value) const {
  const void* item = access_.get(value);
  return item ? item_.get(item) : Json(nullptr);
}

void OptionalType::set(void* value, const std::string& path, const Json& json, const Limits& limits) const {
  if (json.is_null()) return access_.reset(value);
  // A nested struct or part keeps its other options; a plain value is replaced only after the new one was read.
  if (const void* held = access_.get(value)) return item_.set(const_cast<void*>(held), path, json, limits);
  void* item = access_.emplace(value);
  try {
    item_.set(item, path, json, limits);
  } catch (...) {
    access_.reset(value);
    throw;
  }
}

void OptionalType::check(const void* value, const std::string& path, const Limits& limits) const {
  if (const void* item = access_.get(value)) item_.check(item, path, limits);
}

Json OptionalType::from_text(const std::string& text) const {
  return text == "null" ? Json(nullptr) : item_.from_text(text);
}

std::string ListType::expected() const { return "a list, each " + item_.expected(); }

Json ListType::get(const void* value) const {
  Json list = Json::array();
  for (size_t i = 0; i < access_.size(value); ++i) list.push_back(item_.get(access_.get(value, i)));
  return list;
}

/// If the items are chosen by name, a single name or object is a list of one.
void ListType::set(void* value, const std::string& path, const Json& json, const Limits& limits) const {
  const bool is_one_item = item_.classes() && (json.is_string() || json.is_object());
  if (is_one_item) return set(value, path, Json::array({json}), limits);
  if (!json.is_array()) throw_unexpected(path, expected(), json);
  access_.clear(value);
  for (size_t i = 0; i < json.size(); ++i)
    item_.set(access_.append(value), path + "[" + std::to_string(i) + "]", json[i], limits);
}

void ListType::check(const void* value, const std::string& path, const Limits& limits) const {
  for (size_t i = 0; i < access_.size(value); ++i)
    item_.check(access_.get(value, i), path + "[" + std::to_string(i) + "]", limits);
}

Json ListType::from_text(const std::string& text) const {
  if (!text.empty() && (text.front() == '[' || text.front() == '{')) return json_or_text(text);
  Json list = Json::array();
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) list.push_back(item_.from_text(part));
  return list;
}

Json StructType::get(const void* value) const { return schema_.get(value); }

void StructType::set(void* value, const std::string& path, const Json& json, const Limits& /*limits*/) const {
  schema_.set(value, path, json);
}

void StructType::check(const void* value, const std::string& path, const Limits& /*limits*/) const {
  schema_.check(value, path);
}

}  // namespace levin
