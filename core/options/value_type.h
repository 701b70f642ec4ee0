#pragma once
#include <levin/core/options/option_type.h>
#include <levin/core/system/error.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace levin {

/// Parses `text` as JSON; returns the text itself if it is not JSON or is a quoted string. Throws UsageError for a key
/// that occurs twice in one object and for more than 64 levels.
Json json_or_text(const std::string& text);

/// An OptionType made from functions. Only for .cpp files, since it needs the whole of nlohmann/json.
///
///     const OptionType& OptionTraits<Devices>::type() {
///       static const ValueType<Devices> type("a count, a list of device numbers or \"auto\"", parse, write);
///       return type;
///     }
template <class T>
class ValueType : public OptionType {
 public:
  /// Returns nothing if the JSON is not such a value.
  using Parse = std::optional<T> (*)(const Json&);
  using Write = Json (*)(const T&);
  using FromText = Json (*)(const std::string&);

  /// `schema` is the JSON Schema, as text, of all values that `parse` accepts.
  ValueType(const char* expected, Parse parse, Write write, FromText text = json_or_text, bool a_switch = false,
            const char* schema = "{}")
      : expected_(expected), parse_(parse), write_(write), from_text_(text), is_switch_(a_switch), schema_(schema) {}

  std::string expected() const override { return expected_; }
  Json get(const void* value) const override { return write_(*static_cast<const T*>(value)); }
  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override {
    std::optional<T> parsed = parse_(json);
    if (!parsed) throw_unexpected(path, expected_, json);
    limits.check(path, write_(*parsed));
    *static_cast<T*>(value) = *std::move(parsed);
  }
  Json from_text(const std::string& text) const override { return from_text_(text); }
  bool is_switch() const override { return is_switch_; }
  Json json_schema() const override { return Json::parse(schema_); }

 private:
  const char* expected_;
  Parse parse_;
  Write write_;
  FromText from_text_;
  bool is_switch_;
  const char* schema_;
};

/// Makes a T, which has a constructor for counts and one for fractions, of a JSON number; returns nothing for other
/// JSON and for a number that T refuses.
template <class T>
std::optional<T> count_or_fraction(const Json& json) try {
  if (json.is_number_float()) return T(json.get<double>());
  if (json.is_number_integer()) return T(json.get<int64_t>());
  return {};
} catch (const UsageError&) {
  return {};
}

}  // namespace levin
