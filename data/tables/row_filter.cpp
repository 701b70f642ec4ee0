#include <levin/data/tables/row_filter.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace levin::data {
namespace {

std::string without_outer_spaces(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// A number, true or false. Of 80 bits, so that all integers of 64 bits are exact on x86-64.
std::optional<long double> number_of(const std::string& text) {
  if (text == "true" || text == "True") return 1;
  if (text == "false" || text == "False") return 0;
  long double value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && stop == text.data() + text.size() && !text.empty() ? std::optional(value)
                                                                                   : std::nullopt;
}

long double as_double(long double number) { return static_cast<double>(number); }

template <class T, class Test>
void test_rows(const at::Tensor& values, const Test& test, std::vector<char>& keep) {
  const T* value = values.const_data_ptr<T>();
  for (size_t i = 0; i < keep.size(); ++i) keep[i] = keep[i] && test(static_cast<long double>(value[i]));
}

}  // namespace

template <class T>
bool RowFilter::compare(const T& left, Comparison comparison, const T& right) {
  switch (comparison) {
    case Comparison::Equal:
      return left == right;
    case Comparison::NotEqual:
      return left != right;
    case Comparison::Less:
      return left < right;
    case Comparison::LessEqual:
      return left <= right;
    case Comparison::Greater:
      return left > right;
    case Comparison::GreaterEqual:
      return left >= right;
  }
  return false;
}

template <class T>
bool RowFilter::may_hold(const T& least, const T& greatest, Comparison comparison, const T& value) {
  switch (comparison) {
    case Comparison::Equal:
      return least <= value && value <= greatest;
    case Comparison::NotEqual:
      return true;
    case Comparison::Less:
    case Comparison::LessEqual:
      return compare(least, comparison, value);
    case Comparison::Greater:
    case Comparison::GreaterEqual:
      return compare(greatest, comparison, value);
  }
  return true;
}

bool RowFilter::may_match(const std::vector<std::optional<ColumnRange>>& ranges) const {
  for (size_t i = 0; i < conditions_.size(); ++i) {
    const Condition& condition = conditions_[i];
    const std::optional<ColumnRange>& range = ranges[i];
    if (!range || (!range->is_text && !condition.number)) continue;
    const auto may_be = [&](long double number) {
      return may_hold(range->least, range->greatest, condition.comparison, number);
    };
    const bool may_match =
        range->is_text ? may_hold(range->least_text, range->greatest_text, condition.comparison, condition.value)
                       : may_be(*condition.number) || may_be(as_double(*condition.number));
    if (!may_match) return false;
  }
  return true;
}

RowFilter::Condition RowFilter::parse(const std::string& text, const std::vector<std::string>& columns) {
  static const std::array<std::pair<std::string, Comparison>, 7> signs = {{{"==", Comparison::Equal},
                                                                           {"!=", Comparison::NotEqual},
                                                                           {"<=", Comparison::LessEqual},
                                                                           {">=", Comparison::GreaterEqual},
                                                                           {"<", Comparison::Less},
                                                                           {">", Comparison::Greater},
                                                                           {"=", Comparison::Equal}}};
  std::string first_name;
  bool has_sign = false;
  // The first sign behind a column's name: names may have signs in them.
  for (size_t at = text.find_first_of("=!<>"); at != text.npos; at = text.find_first_of("=!<>", at + 1)) {
    const auto* const sign = std::ranges::find_if(
        signs, [&](const auto& known) { return text.compare(at, known.first.size(), known.first) == 0; });
    if (sign == signs.end()) continue;
    const std::string name = without_outer_spaces(text.substr(0, at));
    if (!has_sign) first_name = name;
    has_sign = true;
    const auto column = std::ranges::find(columns, name);
    if (column == columns.end()) continue;
    std::string value = without_outer_spaces(text.substr(at + sign->first.size()));
    const bool is_quoted =
        value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
    if (is_quoted) value = value.substr(1, value.size() - 2);
    return {.text = text,
            .column = static_cast<size_t>(column - columns.begin()),
            .comparison = sign->second,
            .value = value,
            .number = is_quoted ? std::nullopt : number_of(value)};
  }
  if (has_sign)
    throw UsageError("data.where: '", text, "': there is no column '", first_name, "'",
                     did_you_mean(first_name, columns), "; the columns are ", joined(columns));
  throw UsageError("data.where: '", text, "' is no condition, such as year >= 2020");
}

RowFilter::RowFilter(const std::vector<std::string>& conditions, const std::vector<std::string>& columns) {
  for (const std::string& text : conditions) conditions_.push_back(parse(text, columns));
}

std::vector<size_t> RowFilter::columns() const {
  std::vector<size_t> columns;
  for (const Condition& condition : conditions_) columns.push_back(condition.column);
  return columns;
}

void RowFilter::apply(const Condition& condition, const TableColumn& column, std::vector<char>& keep) {
  if (column.is_list || column.values.dim() != 1)
    throw UsageError("data.where: '", condition.text, "': the column holds lists, which are not compared");
  for (const int64_t row : column.missing) keep[static_cast<size_t>(row)] = 0;
  if (column.is_text) {
    std::vector<char> fits;
    for (const std::string& word : column.words) fits.push_back(compare(word, condition.comparison, condition.value));
    const auto* place = column.values.const_data_ptr<int64_t>();
    for (size_t i = 0; i < keep.size(); ++i) keep[i] = keep[i] && fits[static_cast<size_t>(place[i])];
    return;
  }
  if (!condition.number)
    throw UsageError("data.where: '", condition.text, "': the column holds numbers, and '", condition.value,
                     "' is none");
  // 0.1 is the double of that name where the column has doubles.
  const long double number = column.values.is_floating_point() ? as_double(*condition.number) : *condition.number;
  const auto test = [&](long double value) { return compare(value, condition.comparison, number); };
  const at::ScalarType type = column.values.scalar_type();
  if (column.values.is_floating_point())
    test_rows<double>(column.values.to(at::kDouble), test, keep);
  else if (type == at::kUInt64)
    test_rows<uint64_t>(column.values, test, keep);
  else
    test_rows<int64_t>(column.values.to(at::kLong), test, keep);
}

std::vector<char> RowFilter::matches(const std::vector<const TableColumn*>& columns, int64_t rows) const {
  std::vector<char> keep(static_cast<size_t>(rows), 1);
  for (size_t i = 0; i < conditions_.size(); ++i) apply(conditions_[i], *columns[i], keep);
  return keep;
}

}  // namespace levin::data
