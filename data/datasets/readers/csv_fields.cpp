#include <levin/data/datasets/readers/csv_fields.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/column_names.h>
#include <levin/data/datasets/readers/csv_table.h>

#include <ATen/ops/empty.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

namespace levin::data {
namespace {

constexpr std::string_view kListSpaces = " \t\r\n";

std::string_view without_spaces(std::string_view text) {
  const size_t begin = text.find_first_not_of(kListSpaces);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kListSpaces) - begin + 1);
}

/// Whole numbers from 2^53 on may be no float64, which the values are kept as.
bool is_exact(std::string_view text, double value) {
  constexpr double kMostWhole = 9007199254740992;
  return text.find_first_not_of("+-0123456789") != text.npos || std::abs(value) < kMostWhole;
}

void add_number(const CsvReader& reader, size_t column, double value, std::string_view text, CsvField& field) {
  if (!std::isfinite(value) || (field.is_float && !std::isfinite(static_cast<float>(value))))
    reader.fail(column, shown_field(text) + " is too large a number for the type of '" + field.name + "'");
  field.values.push_back(value);
}

std::pair<int64_t, int64_t> places_of(const CsvField& field, int64_t row) {
  const auto at = static_cast<size_t>(row);
  return {at == 0 ? 0 : field.ends[at - 1], field.ends[at]};
}

template <class T>
void write_values(const CsvField& field, const std::vector<int64_t>& rows, T* out) {
  for (const int64_t row : rows) {
    const auto [begin, end] = places_of(field, row);
    for (int64_t i = begin; i < end; ++i) *out++ = static_cast<T>(field.values[static_cast<size_t>(i)]);
  }
}

at::Tensor values_of(const CsvField& field, const std::vector<int64_t>& rows, std::vector<int64_t> sizes) {
  at::Tensor values = at::empty(sizes, at::TensorOptions(field.is_float ? at::kFloat : at::kDouble));
  if (field.is_float)
    write_values(field, rows, values.mutable_data_ptr<float>());
  else
    write_values(field, rows, values.mutable_data_ptr<double>());
  return values;
}

}  // namespace

bool parse_number_list(std::string_view text, std::vector<double>& numbers) {
  text = without_spaces(text);
  const bool is_closed = text.starts_with('[') && text.ends_with(']') && text.size() >= 2;
  if (text.starts_with('[') && !is_closed) return false;
  if (is_closed) text = without_spaces(text.substr(1, text.size() - 2));
  while (!text.empty()) {
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view number = text.substr(0, static_cast<size_t>(stop - text.data()));
    if (code != std::errc() || !std::isfinite(value) || !is_exact(number, value)) return false;
    numbers.push_back(value);
    text.remove_prefix(number.size());
    const size_t spaces = std::min(text.find_first_not_of(kListSpaces), text.size());
    const bool has_comma = spaces < text.size() && text[spaces] == ',';
    if (spaces == 0 && !has_comma && !text.empty()) return false;
    text = without_spaces(text.substr(spaces + has_comma));
    if (has_comma && text.empty()) return false;
  }
  return true;
}

std::vector<CsvField> find_csv_fields(const CsvReader& reader, const CsvDatasetOptions& options) {
  std::vector<CsvField> fields;
  std::set<std::string> names;
  const auto add = [&](const std::string& name, std::vector<size_t> columns, bool is_list) {
    const bool has_own_columns = (name == "target" && !options.target.empty()) ||
                                 (name == "category" && !options.categories.empty()) ||
                                 (name == "input" && !options.features.empty());
    if (!names.insert(name).second || has_own_columns)
      throw UsageError("data.", is_list ? "lists" : "fields", ": '", name, "' is named by another option too");
    fields.push_back({.name = name,
                      .columns = std::move(columns),
                      .is_list = is_list,
                      .is_float = !options.field_options.dtypes.values().contains(name)});
  };
  const auto find_column = [&](const std::string& name) { return reader.column(name); };
  for (const auto& [name, text] : options.fields.values())
    add(name, matching_columns(reader.columns(), name, text, find_column), false);
  for (const auto& [name, column] : options.lists.values()) add(name, {reader.column(column)}, true);
  return fields;
}

void read_csv_field(const CsvReader& reader, const CsvDatasetOptions& options, CsvField& field) {
  for (const size_t column : field.columns) {
    const std::string_view text = reader[column];
    if (is_missing_csv(text, options)) {
      if (options.missing != CsvMissing::Zero)
        reader.fail(column, shown_field(text) + " is missing; set --data.missing to zero or drop");
      if (!field.is_list) field.values.push_back(0);
      continue;
    }
    const size_t before = field.values.size();
    std::vector<double> numbers;
    if (!parse_number_list(text, numbers))
      reader.fail(column, shown_field(text) +
                              (field.is_list ? " is no list of numbers, such as [1, 2] or 1 2" : " is not a number"));
    for (const double number : numbers) add_number(reader, column, number, text, field);
    if (!field.is_list && field.values.size() != before + 1)
      reader.fail(column, shown_field(text) + " is not one number; name the column in --data.lists");
  }
  field.ends.push_back(static_cast<int64_t>(field.values.size()));
}

at::Tensor fixed_field(const CsvField& field, const std::vector<int64_t>& rows) {
  std::vector<int64_t> sizes = {static_cast<int64_t>(rows.size())};
  if (field.columns.size() > 1) sizes.push_back(static_cast<int64_t>(field.columns.size()));
  return values_of(field, rows, std::move(sizes));
}

VaryingField varying_field(const CsvField& field, const std::vector<int64_t>& rows) {
  VaryingField varying{.name = field.name};
  int64_t end = 0;
  for (const int64_t row : rows) {
    const auto [begin, behind] = places_of(field, row);
    varying.ends.push_back(end += behind - begin);
  }
  varying.values = values_of(field, rows, {end});
  return varying;
}

}  // namespace levin::data
