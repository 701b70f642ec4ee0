#include <levin/data/transforms/one_or_more.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>

namespace levin {
namespace {

template <class T>
class OneOrMoreType : public OptionType {
 public:
  std::string expected() const override { return item_.expected() + " or a list of them"; }
  Json get(const void* value) const override {
    const std::vector<T>& values = values_of(value);
    return values.size() == 1 ? item_.get(&values[0]) : list_.get(&values);
  }
  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override {
    auto& values = static_cast<data::OneOrMore<T>*>(value)->values;
    if (json.is_array()) return list_.set(&values, path, json, limits);
    if (!json.is_number() && !json.is_string()) throw_unexpected(path, expected(), json);
    T one = {};
    item_.set(&one, path, json, limits);
    values = {one};
  }
  void check(const void* value, const std::string& path, const Limits& limits) const override {
    const std::vector<T>& values = values_of(value);
    values.size() == 1 ? item_.check(&values[0], path, limits) : list_.check(&values, path, limits);
  }
  Json from_text(const std::string& text) const override {
    const bool list = text.starts_with('[') || text.find(',') != std::string::npos;
    return list ? list_.from_text(text) : item_.from_text(text);
  }
  Json json_schema() const override {
    const Json item = item_.json_schema();
    return {{"anyOf", Json::array({item, {{"type", "array"}, {"items", item}}})}};
  }

 private:
  static const std::vector<T>& values_of(const void* value) {
    return static_cast<const data::OneOrMore<T>*>(value)->values;
  }
  const OptionType& item_ = OptionTraits<T>::type();
  const OptionType& list_ = OptionTraits<std::vector<T>>::type();
};

}  // namespace

const OptionType& OptionTraits<data::OneOrMore<int64_t>>::type() {
  static const OneOrMoreType<int64_t> type;
  return type;
}

const OptionType& OptionTraits<data::OneOrMore<double>>::type() {
  static const OneOrMoreType<double> type;
  return type;
}

}  // namespace levin

namespace levin::data {

std::array<int64_t, 2> height_and_width(const OneOrMore<int64_t>& size, const std::string& option) {
  if (size.size() == 1) return {size[0], size[0]};
  if (size.size() == 2) return {size[0], size[1]};
  throw UsageError(option, ": expected a number or [height, width], got ", size.size(), " numbers");
}

std::array<double, 2> low_and_high(const OneOrMore<double>& range, const std::string& option) {
  if (range.size() != 2) throw UsageError(option, ": expected [low, high], got ", range.size(), " numbers");
  if (!(range[0] <= range[1])) throw UsageError(option, ": ", range[0], " is more than ", range[1]);
  return {range[0], range[1]};
}

}  // namespace levin::data
