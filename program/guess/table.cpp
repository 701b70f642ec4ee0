#include <levin/core/system/error.h>
#include <levin/data/files/csv_file.h>
#include <levin/data/files/mapped_file.h>
#include <levin/program/guess/column.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostUneven = 5;
constexpr int64_t kTableEpochs = 50;
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

/// Returns whether a model can learn from the column, or predict it.
bool has_values(const Column& column) {
  return column.kind() == ColumnKind::Number || column.kind() == ColumnKind::Category;
}

/// Returns whether a column stands for its row alone.
bool names_rows(const Column& column) {
  return column.kind() == ColumnKind::Counter || column.kind() == ColumnKind::Id || column.kind() == ColumnKind::Texts;
}

/// Returns the column to predict without a name to go by: the last that can be one, but if that has numbers, the first
/// column if it has one of two texts, behind what names the rows; null if there is none.
const Column* likely_target(const TableLook& look) {
  const auto first = std::ranges::find_if_not(look.columns, names_rows);
  const auto last = std::find_if(look.columns.rbegin(), look.columns.rend(), has_values);
  if (last == look.columns.rend()) return nullptr;
  const bool first_has_two = first->kind() == ColumnKind::Category && first->distinct() == 2;
  return first_has_two && !last->has_classes() ? &*first : &*last;
}

/// Returns the column to predict: the one that the options name, one that is called like a target, or the likeliest;
/// null, with a stop, if there is none.
const Column* target_of(const TableLook& look, const GuessOptions& options, const std::string& file, Guess& guess) {
  static const std::set<std::string> kNames = {"target", "label", "class", "y", "outcome"};
  const Column* found = options.target.empty() ? likely_target(look) : nullptr;
  std::vector<std::string> names;
  for (const Column& column : look.columns) {
    names.push_back(column.name);
    const bool is_named = options.target.empty()
                              ? has_values(column) && kNames.contains(words_of_name(column.name).front())
                              : column.name == options.target;
    if (is_named) found = &column;
  }
  if (!found && !options.target.empty())
    throw UsageError("--target: ", file, " has no column '", options.target, "'", did_you_mean(options.target, names),
                     "; it has ", listed(names));
  if (!found)
    guess.stops.push_back({file + ": no column can be predicted", "a target has numbers, or classes that come again"});
  else if (!has_values(*found))
    guess.stops.push_back({file + ": column '" + found->name + "' cannot be predicted: " + found->text(),
                           "name another column with --target"});
  return found;
}

/// Returns what is done with a column, behind its description.
std::string use_of(const Column& column, const Column* target, bool is_guessed) {
  if (&column == target)
    return std::string("  <- the target, ") + (column.has_classes() ? "as classes" : "as a number") +
           (is_guessed ? "; --target names another" : "");
  if (!has_values(column)) return "  (left out)";
  constexpr int64_t kManyRows = 20;
  const bool may_be_ids = column.is_all_different() && column.distinct() >= kManyRows;
  return may_be_ids ? "  (all different: if they name the rows, add the column to data.ignore)" : "";
}

void tell_columns(const TableLook& look, const Column* target, bool is_guessed, Guess& guess, const std::string& file) {
  for (const Column& column : look.columns) {
    guess.seen.push_back("  " + column.name + ": " + column.text() + use_of(column, target, is_guessed));
    const std::string place = file + ": column '" + column.name + "' ";
    if (column.kind() == ColumnKind::Date)
      guess.broken.push_back(
          {place + "has dates, which are left out",
           "add columns of numbers that matter: the year, the month, the days since the first date"});
    if (const std::string example = column.number_with_unit(); !example.empty())
      guess.broken.push_back({place + "has numbers with other characters, such as " + example + ", so they are texts",
                              "write the number alone"});
  }
}

void set_columns(const TableLook& look, const Column& target, CommentedConfig& config) {
  std::vector<std::string> categories, ignored, missing_values = data::CsvDatasetOptions().missing_values;
  const size_t usual = missing_values.size();
  bool lacks = false;
  for (const Column& column : look.columns) {
    for (const std::string& marker : column.markers())
      if (std::ranges::find(missing_values, marker) == missing_values.end()) missing_values.push_back(marker);
    if (&column == &target) continue;
    const ColumnKind kind = column.kind();
    if (kind == ColumnKind::Category) categories.push_back(column.name);
    if (!has_values(column)) ignored.push_back(column.name);
    lacks = lacks || (has_values(column) && column.absent() > 0);
  }
  if (!categories.empty()) {
    config.set("data", "categories", categories, "texts become numbers, and the model learns what they mean");
    config.set("data", "unknown", "code", "texts that come in other files alone share one number");
  }
  if (!ignored.empty()) config.set("data", "ignore", ignored);
  config.set("data", "target", target.name);
  config.set("data", "target_type", target.has_classes() ? "class" : "number");
  if (missing_values.size() > usual) config.set("data", "missing_values", missing_values);
  if (target.absent() > 0)
    config.set("data", "missing", "drop", "rows that lack a value are left out, since some lack the target");
  else if (lacks)
    config.set("data", "missing", "mean",
               "a number that is missing becomes the mean of its column; drop leaves the row out");
}

std::optional<fs::path> file_of(const Paths& files, Part part) {
  for (const fs::path& file : files)
    if (part_of(file) == part) return file;
  return {};
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
  const Column* target = target_of(look, options, file.string(), guess);
  tell_columns(look, target, options.target.empty(), guess, file.string());
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
  set_training(guess.config, "table", kTableEpochs);
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
