#include <levin/core/system/error.h>
#include <levin/data/files/csv_file.h>
#include <levin/data/files/mapped_file.h>
#include <levin/program/guess/column.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>
#include <levin/program/guess/table_columns.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostUneven = 5;
constexpr double kLargeTarget = 100;

/// How numbers may be written, the likeliest first.
constexpr std::array<data::CsvNumberFormat, 4> kNumberFormats = {
    {{}, {.thousands = ','}, {.decimal = ','}, {.decimal = ',', .thousands = '.'}}};

/// A table as it was read, and how.
struct TableLook {
  data::CsvFormat format = {};
  data::CsvNumberFormat numbers = {};
  std::vector<Column> columns = {};
  int64_t rows = 0;
  /// Lines with another number of fields than the header, of which the first have their texts.
  int64_t uneven = 0;
  std::vector<std::string> uneven_lines = {};
};

std::vector<std::string> first_fields(std::string_view text, const std::string& name, char delimiter) {
  try {
    return data::CsvReader(text, name, {.delimiter = delimiter}).columns();
  } catch (const UsageError&) {
    if (delimiter == ',') throw;
    return {};
  }
}

/// Finds the delimiter that divides the first line into most fields, and whether that line names the columns.
data::CsvFormat format_of(std::string_view text, const std::string& name) {
  data::CsvFormat format;
  std::vector<std::string> fields = first_fields(text, name, format.delimiter);
  for (const char other : {';', '\t', '|'}) {
    std::vector<std::string> divided = first_fields(text, name, other);
    if (divided.size() <= fields.size()) continue;
    fields = std::move(divided);
    format.delimiter = other;
  }
  format.header = std::ranges::none_of(fields, [](const std::string& field) {
    return std::ranges::any_of(kNumberFormats,
                               [&](auto numbers) { return data::csv_number(field, numbers).has_value(); });
  });
  return format;
}

TableLook look_at(const fs::path& path, data::CsvNumberFormat numbers) {
  const data::MappedFile file(path, data::FileAccess::Sequential);
  const std::string name = path.string();
  TableLook look{.format = format_of(file.text(), name), .numbers = numbers};
  data::CsvReader reader(file.text(), name, look.format);
  for (const std::string& column : reader.columns()) look.columns.emplace_back(column, numbers);
  const data::CsvDatasetOptions options;
  while (reader.next_uneven()) {
    if (reader.fields() != look.columns.size()) {
      if (++look.uneven <= static_cast<int64_t>(kMostUneven))
        look.uneven_lines.push_back(name + ":" + std::to_string(reader.line()) + ": " +
                                    counted(static_cast<int64_t>(reader.fields()), "field") + ", but the " +
                                    (look.format.header ? "header" : "first row") + " has " +
                                    std::to_string(look.columns.size()));
      continue;
    }
    ++look.rows;
    for (size_t i = 0; i < look.columns.size(); ++i) look.columns[i].add(reader[i], options);
  }
  return look;
}

/// Returns the way of writing under which most columns hold numbers.
data::CsvNumberFormat numbers_of(const TableLook& look) {
  data::CsvNumberFormat best = kNumberFormats[0];
  std::ptrdiff_t most = 0;
  for (const data::CsvNumberFormat format : kNumberFormats) {
    const auto columns = std::ranges::count_if(look.columns, [&](const Column& one) { return one.is_written(format); });
    if (columns > most) best = format;
    most = std::max(most, columns);
  }
  return best;
}

/// Looks at the table, and at its numbers as they are written.
TableLook look_at(const fs::path& path, Guess& guess) {
  TableLook look = look_at(path, kNumberFormats[0]);
  const data::CsvNumberFormat numbers = numbers_of(look);
  const bool has_commas = numbers.decimal == ',';
  if (!has_commas && numbers.thousands == '\0') return look;
  TableLook again = look_at(path, numbers);
  guess.seen.push_back(std::string("  numbers are written with ") +
                       (has_commas ? "decimal commas" : "commas between thousands") +
                       (has_commas && numbers.thousands != '\0' ? ", and points between thousands" : ""));
  for (size_t i = 0; i < look.columns.size(); ++i)
    if (look.columns[i].kind() == ColumnKind::Number && again.columns[i].kind() != ColumnKind::Number)
      guess.broken.push_back({path.string() + ": column '" + again.columns[i].name +
                                  "' has numbers that are written in another way than those of other columns",
                              "write all numbers of the file in one way"});
  return again;
}

void check(const fs::path& path, const TableLook& look, Guess& guess) {
  for (const std::string& line : look.uneven_lines) guess.stops.push_back({.what = line});
  if (look.uneven > 0)
    guess.stops.back().advice =
        counted(look.uneven, "line") + (look.uneven == 1 ? " has" : " have") +
        " another number of fields; add what is missing (a missing value is an empty field), and put fields that hold "
        "the delimiter between quotes";
  std::set<std::string> names;
  for (const Column& column : look.columns)
    if (!names.insert(column.name).second)
      guess.stops.push_back(
          {path.string() + ": two columns have the name '" + column.name + "'", "rename one of them"});
  if (look.columns.size() < 2)
    guess.stops.push_back({path.string() + ": one column alone",
                           "a table has a column to predict, and others to "
                           "predict it from, with , ; | or a tab between them"});
  if (look.rows == 0 && look.uneven == 0) guess.stops.push_back({path.string() + ": no rows", "add rows of values"});
}

void set_columns(const TableLook& look, const Column& target, CommentedConfig& config) {
  std::vector<std::string> categories, ignored, missing_values = data::CsvDatasetOptions().missing_values;
  const size_t usual = missing_values.size();
  for (const Column& column : look.columns) {
    for (const std::string& marker : column.markers())
      if (std::ranges::find(missing_values, marker) == missing_values.end()) missing_values.push_back(marker);
    if (&column == &target) continue;
    const ColumnKind kind = column.kind();
    if (kind == ColumnKind::Category) categories.push_back(column.name);
    if (!has_values(column)) ignored.push_back(column.name);
  }
  if (!categories.empty()) {
    config.set("data", "categories", categories, "texts become numbers, and the model learns what they mean");
    config.set("data", "unknown", "code", "texts that come in other files alone share one number");
  }
  if (!ignored.empty()) config.set("data", "ignore", ignored);
  config.set("data", "target", target.name);
  config.set("data", "target_type", target.has_classes() ? "class" : "number");
  if (missing_values.size() > usual) config.set("data", "missing_values", missing_values);
  set_missing(look.columns, target, config);
}

}  // namespace

Guess guess_table(const Paths& files, const GuessOptions& options) {
  Guess guess{.kind = "a table"};
  const fs::path file = files.size() == 1 ? files.front() : file_of(files, Part::Train).value_or(files.front());
  std::vector<std::string> others;
  for (const fs::path& other : files)
    if (part_of(other) == Part::Train && other != file) others.push_back(other.filename().string());
  if (!others.empty())
    guess.broken.push_back({"several tables: " + file.filename().string() + " is taken, and not " + listed(others),
                            "name the file in place of the folder, or call them train.csv, val.csv and test.csv"});
  const TableLook look = look_at(file, guess);
  check(file, look, guess);
  guess.seen.insert(guess.seen.begin(),
                    file.string() + ": " + counted(look.rows, "row") + ", " +
                        counted(static_cast<int64_t>(look.columns.size()), "column") +
                        (look.format.header ? "" : "; without a header: columns are called 0, 1, ..."));
  const Column* target = target_of(look.columns, options, file.string(), guess);
  tell_columns(look.columns, target, options.target.empty(), guess, file.string(), "add the column to data.ignore");
  const bool has_features =
      std::ranges::any_of(look.columns, [&](const Column& column) { return &column != target && has_values(column); });
  if (target && !has_features)
    guess.stops.push_back({file.string() + ": no column is left to predict '" + target->name + "' from",
                           "add columns of numbers, or of texts that come again"});
  if (!guess.stops.empty()) return guess;

  const bool has_classes = target->has_classes();
  if (!has_classes && target->magnitude() > kLargeTarget)
    guess.seen.push_back(
        "  the target has large numbers, so the loss begins large; divide the column by a round number "
        "if training is slow to begin");
  set_training(guess.config, "table", kGuessedTableEpochs);
  guess.config.set("model", "class", has_classes ? "MLPClassifier" : "MLPRegressor",
                   "it takes its sizes from the data");
  set_optimizer(guess.config);
  guess.config.set("data", "class", "Csv");
  guess.config.set("data", "file", file.string());
  const auto val = files.size() > 1 ? file_of(files, Part::Val) : std::nullopt;
  if (val) guess.config.set("data", "val_file", val->string());
  const auto test = files.size() > 1 ? file_of(files, Part::Test) : std::nullopt;
  if (test) guess.config.set("data", "test_file", test->string());
  if (look.format.delimiter != ',') guess.config.set("data", "delimiter", std::string(1, look.format.delimiter));
  if (!look.format.header) guess.config.set("data", "header", false);
  if (look.numbers.decimal != '.') guess.config.set("data", "decimal", std::string(1, look.numbers.decimal));
  if (look.numbers.thousands != '\0') guess.config.set("data", "thousands", std::string(1, look.numbers.thousands));
  set_columns(look, *target, guess.config);
  guess.config.set("data", "standardize", true);
  if (val)
    set_best_checkpoint(guess.config);
  else
    set_val_fraction(guess.config, look.rows);
  guess.config.set("data", "batch_size", kGuessedBatch);
  return guess;
}

}  // namespace levin::cli
