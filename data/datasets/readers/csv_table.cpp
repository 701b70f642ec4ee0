#include <levin/data/datasets/readers/csv_table.h>
#include <levin/core/system/error.h>
#include <levin/data/files/csv_file.h>
#include <levin/data/files/mapped_file.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace levin::data {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// Writes a number with a decimal point and without groups. Returns false if the groups are no groups of three digits.
bool rewrite(std::string_view text, CsvNumberFormat format, std::string& plain) {
  const size_t fraction = std::min(text.find(format.decimal), text.find_first_of("eE"));
  size_t digits = 0;
  bool has_groups = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_whole = i < fraction;
    if (is_whole && c == format.thousands && format.thousands != '\0') {
      if (digits == 0 || digits > 3 || (has_groups && digits != 3)) return false;
      has_groups = true;
      digits = 0;
      continue;
    }
    if (is_whole && c >= '0' && c <= '9') ++digits;
    if (c == '.' && format.decimal != '.') return false;
    plain += c == format.decimal ? '.' : c;
  }
  return !has_groups || digits == 3;
}

/// The indices of the columns in the file.
struct Columns {
  std::vector<size_t> features, categories;
  std::optional<size_t> target;
};

Columns find_columns(const CsvReader& reader, const CsvDatasetOptions& options,
                     const std::vector<std::string>* features, CsvTable& table) {
  Columns columns;
  for (const std::string& name : options.categories) columns.categories.push_back(reader.column(name));
  if (!options.target.empty()) columns.target = reader.column(options.target);
  for (const std::string& name : features ? *features : options.features) {
    columns.features.push_back(reader.column(name));
  }
  const bool has_fields = !table.fields.empty();
  if (!features && options.features.empty() && !has_fields) {
    std::vector<size_t> others = columns.categories;
    for (const std::string& name : options.ignore) others.push_back(reader.column(name));
    for (size_t i = 0; i < reader.columns().size(); ++i) {
      if (i != columns.target && !std::ranges::count(others, i)) columns.features.push_back(i);
    }
  }
  if (columns.features.empty() && columns.categories.empty() && !has_fields) {
    throw UsageError(table.file, ": no column is left for features; set --data.features or --data.categories");
  }
  for (const size_t i : columns.features) table.features.push_back(reader.columns()[i]);
  for (const size_t i : columns.categories) table.categories.push_back(reader.columns()[i]);
  return columns;
}

/// Reads rows into a table.
class TableReader {
 public:
  TableReader(CsvReader& reader, const CsvDatasetOptions& options, Columns columns, CsvTable& table)
      : reader_(reader),
        options_(options),
        format_(number_format_of(options)),
        columns_(std::move(columns)),
        table_(table) {
    table_.words.resize(columns_.categories.size());
  }

  /// Returns false if the row is left out.
  bool add_row() {
    if (options_.missing == CsvMissing::Drop && lacks_any()) return false;
    for (const size_t column : columns_.features) table_.numbers.push_back(feature(column));
    for (size_t i = 0; i < columns_.categories.size(); ++i) {
      const size_t column = columns_.categories[i];
      table_.codes.push_back(table_.words[i].add(is_missing(column) ? allowed_missing(column) : reader_[column]));
    }
    if (columns_.target) add_target(*columns_.target);
    for (CsvField& field : table_.fields) read_csv_field(reader_, options_, field);
    table_.lines.push_back(reader_.line());
    return true;
  }

 private:
  bool is_missing(size_t column) const { return is_missing_csv(reader_[column], options_); }
  bool lacks_any() const {
    const auto missing = [&](size_t column) { return is_missing(column); };
    return std::ranges::any_of(columns_.features, missing) || std::ranges::any_of(columns_.categories, missing) ||
           (columns_.target && is_missing(*columns_.target)) ||
           std::ranges::any_of(table_.fields,
                               [&](const CsvField& field) { return std::ranges::any_of(field.columns, missing); });
  }
  /// Returns the word for a missing value; throws if missing values are not allowed.
  std::string_view allowed_missing(size_t column) const {
    if (options_.missing != CsvMissing::Error) return "";
    reader_.fail(column, shown_field(reader_[column]) + " is missing; set --data.missing to mean, zero or drop");
  }
  /// Returns the option that would make a number of the text; empty if there is none.
  std::string hint(std::string_view text) const {
    if (csv_number(text, {.decimal = ','})) return "; for decimal commas set --data.decimal ,";
    if (csv_number(text, {.thousands = ','})) return "; for commas between thousands set --data.thousands ,";
    return "";
  }
  float number(size_t column) const {
    const std::optional<float> value = csv_number(reader_[column], format_);
    if (!value) reader_.fail(column, shown_field(reader_[column]) + " is not a number" + hint(reader_[column]));
    return *value;
  }
  float feature(size_t column) const {
    if (!is_missing(column)) return number(column);
    allowed_missing(column);
    return std::numeric_limits<float>::quiet_NaN();
  }
  void add_target(size_t column) {
    if (is_missing(column)) {
      reader_.fail(column, shown_field(reader_[column]) + " is a missing target; set --data.missing to drop");
    }
    if (options_.target_type == CsvTargetType::Number) {
      table_.target_numbers.push_back(number(column));
    } else {
      table_.target_codes.push_back(table_.classes.add(reader_[column]));
    }
  }

  CsvReader& reader_;
  const CsvDatasetOptions& options_;
  CsvNumberFormat format_;
  Columns columns_;
  CsvTable& table_;
};

}  // namespace

CsvNumberFormat number_format_of(const CsvDatasetOptions& options) {
  const std::string decimal = options.decimal.word();
  if (options.thousands.size() > 1 || options.thousands == decimal)
    throw UsageError("data.thousands: expected one character other than data.decimal, '", decimal, "', got '",
                     options.thousands, "'");
  return {.decimal = decimal.front(), .thousands = options.thousands.empty() ? '\0' : options.thousands.front()};
}

std::optional<float> csv_number(std::string_view field, CsvNumberFormat format) {
  std::string_view text = trimmed(field);
  std::string plain;
  if (format.decimal != '.' || format.thousands != '\0') {
    if (!rewrite(text, format, plain)) return {};
    text = plain;
  }
  if (text.starts_with("+") && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end) return {};
  const auto narrow = static_cast<float>(value);
  return std::isfinite(narrow) ? std::optional(narrow) : std::nullopt;
}

bool is_missing_csv(std::string_view field, const CsvDatasetOptions& options) {
  return std::ranges::count(options.missing_values, trimmed(field)) > 0;
}

int64_t CsvWords::add(std::string_view word) {
  if (const auto found = numbers_.find(word); found != numbers_.end()) return found->second;
  const auto number = static_cast<int64_t>(words_.size());
  words_.emplace_back(word);
  numbers_.emplace(word, number);
  return number;
}

CsvTable read_csv_table(const std::filesystem::path& path, const CsvDatasetOptions& options,
                        const std::vector<std::string>* features) {
  schema_of<CsvDatasetOptions>().check(&options, "data");
  if (options.delimiter.size() != 1) {
    throw UsageError("data.delimiter: expected one character, got '", options.delimiter, "'");
  }
  const MappedFile file(path, FileAccess::Sequential);
  CsvTable table;
  table.file = path.string();
  CsvReader reader(file.text(), table.file, {.delimiter = options.delimiter.front(), .header = options.header});
  table.fields = find_csv_fields(reader, options);
  TableReader rows(reader, options, find_columns(reader, options, features, table), table);
  for (int64_t row = 0; reader.next(); ++row) (rows.add_row() ? table.numbers_of_rows : table.left_out).push_back(row);
  if (table.rows() == 0) {
    throw UsageError(table.file, table.left_out.empty() ? ": no rows under the header"
                                                        : ": each of its " + std::to_string(table.left_out.size()) +
                                                              " rows lacks a value");
  }
  return table;
}

}  // namespace levin::data
