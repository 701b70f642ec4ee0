#include <levin/data/tokenizers/parse_json.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

namespace levin::data::tokenizers {
namespace {

/// Builds the values that nlohmann's parser meets.
class JsonBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonBuilder(const std::string& name) : name_(name) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return add(value_of_number(text)); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*members*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*values*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    member_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    throw UsageError(name_, ": is no tokenizer: ", error.what());
  }

 private:
  template <class Value>
  Json* put(Value&& value) {
    if (open_.empty()) {
      root_ = std::forward<Value>(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      auto& values = parent.get_ref<Json::array_t&>();
      return &values.emplace_back(std::forward<Value>(value));
    }
    auto& members = parent.get_ref<Json::object_t&>();
    return &members.insert_or_assign(std::move(member_), std::forward<Value>(value)).first->second;
  }
  template <class Value>
  bool add(Value&& value) {
    put(std::forward<Value>(value));
    return true;
  }
  bool open(Json value) {
    open_.push_back(put(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& name_;
  Json root_ = {};
  std::vector<Json*> open_ = {};  // the objects and lists around the next value; the last one alone grows
  std::string member_ = {};
};

double power_of_ten(int64_t exponent) {
  const std::string text = "1e" + std::to_string(exponent);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

double value_of_number(std::string_view number) {
  constexpr int64_t kLargest = 308;
  const bool negative = number.starts_with('-');
  uint64_t digits = 0;
  int64_t exponent = 0;
  bool in_fraction = false, full = false;
  size_t i = negative ? 1 : 0;
  for (; i < number.size() && number[i] != 'e' && number[i] != 'E'; ++i) {
    if (number[i] == '.') {
      in_fraction = true;
      continue;
    }
    const auto digit = static_cast<uint64_t>(number[i] - '0');
    full = full || digits > (std::numeric_limits<uint64_t>::max() - digit) / 10;
    if (!full) digits = digits * 10 + digit;
    if (full && !in_fraction) ++exponent;
    if (!full && in_fraction) --exponent;
  }
  if (i < number.size()) {
    int64_t more = 0;
    const char* const from = number.data() + i + (number.substr(i + 1).starts_with('+') ? 2 : 1);
    const auto read = std::from_chars(from, number.data() + number.size(), more);
    constexpr int64_t kFar = 100'000;
    if (read.ec != std::errc()) more = number.substr(i + 1).starts_with('-') ? -kFar : kFar;
    exponent += std::clamp(more, -kFar, kFar);
  }
  auto value = static_cast<double>(digits);
  for (; exponent < -kLargest && value != 0; exponent += kLargest) value /= power_of_ten(kLargest);
  if (value != 0) {
    value = exponent >= 0 ? value * power_of_ten(std::min(exponent, kLargest)) : value / power_of_ten(-exponent);
    if (exponent > kLargest) value = std::numeric_limits<double>::infinity();
  }
  return negative ? -value : value;
}

Json parse_tokenizer_json(std::string_view text, const std::string& name) {
  if (is_nested_deeper(text)) throw UsageError(name, ": is no tokenizer: its JSON is nested too deeply");
  JsonBuilder builder(name);
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace levin::data::tokenizers
