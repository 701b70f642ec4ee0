#pragma once
#include <levin/core/options/option_type.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace levin::data {

/// A list of numbers; a single number needs no list: `.size = 224` or `.size = {224, 320}`, in JSON likewise.
template <class T>
struct OneOrMore {
  OneOrMore() = default;
  OneOrMore(T one) : values{one} {}
  OneOrMore(std::initializer_list<T> list) : values(list) {}
  OneOrMore(std::vector<T> list) : values(std::move(list)) {}

  bool empty() const { return values.empty(); }
  size_t size() const { return values.size(); }
  T operator[](size_t i) const { return values[i]; }

  std::vector<T> values = {};
};

/// Returns one number as a square, two as height and width; throws levin::UsageError that starts with `option` for
/// others.
std::array<int64_t, 2> height_and_width(const OneOrMore<int64_t>& size, const std::string& option);

/// Returns two numbers as a range; throws levin::UsageError that starts with `option` for others and if low > high.
std::array<double, 2> low_and_high(const OneOrMore<double>& range, const std::string& option);

}  // namespace levin::data

namespace levin {

template <>
struct OptionTraits<data::OneOrMore<int64_t>> {
  static const OptionType& type();
};
template <>
struct OptionTraits<data::OneOrMore<double>> {
  static const OptionType& type();
};

}  // namespace levin
