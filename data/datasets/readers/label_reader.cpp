#include <levin/data/datasets/readers/label_reader.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace levin::data {
namespace {

constexpr int64_t kMostClassNames = 1 << 20;

/// Returns a whole number from 0 on, or its text; nothing for something else.
std::optional<int64_t> class_number(const nlohmann::json& label) {
  int64_t number = -1;
  if (label.is_number_integer()) {
    if (label.is_number_unsigned() && label.get<uint64_t>() > static_cast<uint64_t>(kMostClassNames)) return {};
    number = label.get<int64_t>();
  } else if (label.is_string()) {
    const auto& text = label.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return {};
  } else if (label.is_boolean()) {
    number = label.get<bool>() ? 1 : 0;
  }
  return number >= 0 && number < kMostClassNames ? std::optional(number) : std::nullopt;
}

std::optional<double> plain_number(const nlohmann::json& label) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (label.is_number()) {
    number = label.get<double>();
  } else if (label.is_string()) {
    const auto& text = label.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return {};
  }
  const bool fits = std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());
  return fits ? std::optional(number) : std::nullopt;
}

std::string shown_label(const nlohmann::json& label) {
  constexpr size_t kShown = 80;
  const std::string text = label.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() > kShown ? text.substr(0, kShown) + "..." : text;
}

/// What all training labels have in common.
struct LabelKinds {
  bool has_list = false, all_classes = true, all_numbers = true;
  std::set<std::string> names = {};
  int64_t largest = -1;

  void add(const nlohmann::json& label, const std::string& place) {
    const std::optional<int64_t> number = class_number(label);
    if (number) largest = std::max(largest, *number);
    all_classes = all_classes && number.has_value();
    all_numbers = all_numbers && plain_number(label).has_value();
    if (label.is_string()) {
      names.insert(label.get<std::string>());
      if (names.size() > static_cast<size_t>(kMostClassNames))
        throw UsageError(place, ": there are more than ", kMostClassNames, " different labels");
    }
  }
};

}  // namespace

LabelReader::LabelReader(LabelType type, std::vector<std::string> names) : type_(type) { set_names(std::move(names)); }

void LabelReader::set_names(std::vector<std::string> names) {
  names_ = std::move(names);
  numbers_.clear();
  for (size_t i = 0; i < names_.size(); ++i) numbers_.emplace(names_[i], static_cast<int64_t>(i));
}

void LabelReader::learn(const Labels& labels) {
  LabelKinds kinds;
  labels([&](const nlohmann::json& label, const std::string& place) {
    if (!label.is_array()) return kinds.add(label, place);
    kinds.has_list = true;
    for (const nlohmann::json& one : label) kinds.add(one, place);
  });
  if (type_ == LabelType::Auto) {
    type_ = LabelType::Class;
    if (kinds.has_list)
      type_ = LabelType::Classes;
    else if (kinds.all_numbers && !kinds.all_classes && names_.empty())
      type_ = LabelType::Number;
  }
  if (type_ == LabelType::Number || !names_.empty()) return;
  largest_ = kinds.largest;
  if (!kinds.all_classes) set_names({kinds.names.begin(), kinds.names.end()});
}

int64_t LabelReader::classes() const { return names_.empty() ? largest_ + 1 : static_cast<int64_t>(names_.size()); }

int64_t LabelReader::class_of(const nlohmann::json& label, const std::string& place) const {
  if (label.is_string())
    if (const auto found = numbers_.find(label.get<std::string>()); found != numbers_.end()) return found->second;
  const std::optional<int64_t> number = class_number(label);
  if (number && (names_.empty() || *number < static_cast<int64_t>(names_.size()))) return *number;
  if (names_.empty())
    throw UsageError(place, ": the label ", shown_label(label),
                     " is no class, a whole number from 0 on; set data.labels "
                     "to the names of classes, or data.label_type");
  const std::string text = label.is_string() ? label.get<std::string>() : std::string();
  throw UsageError(place, ": the label ", shown_label(label), " is none of the ", names_.size(), " classes",
                   did_you_mean(text, names_), "; data.labels names them");
}

std::vector<int64_t> LabelReader::classes_of(const nlohmann::json& label, const std::string& place) const {
  if (!label.is_array()) throw UsageError(place, ": the label ", shown_label(label), " is no list of classes");
  std::vector<int64_t> classes;
  for (const nlohmann::json& one : label) classes.push_back(class_of(one, place));
  return classes;
}

float LabelReader::number_of(const nlohmann::json& label, const std::string& place) const {
  const std::optional<double> number = plain_number(label);
  if (!number) throw UsageError(place, ": the label ", shown_label(label), " is no number");
  return static_cast<float>(*number);
}

State LabelReader::state() const {
  State::List names;
  for (const std::string& name : names_) names.emplace_back(name);
  State state = State::dict();
  state["class_names"] = State(std::move(names));
  state["label_type"] = Choice<LabelType>(type_).word();
  state["largest_class"] = largest_;
  return state;
}

void LabelReader::load(const State& state) {
  std::vector<std::string> names;
  for (const State& name : state.at("class_names").items()) names.push_back(name.to_string());
  set_names(std::move(names));
  type_ = Choice<LabelType>(state.at("label_type").to_string());
  largest_ = state.at("largest_class").to_int();
}

}  // namespace levin::data
