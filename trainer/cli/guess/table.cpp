#include <levin/data/files/csv_file.h>
#include <levin/data/files/mapped_file.h>
#include <levin/trainer/cli/guess/column.h>
#include <levin/trainer/cli/guess/common.h>
#include <levin/trainer/cli/guess/kinds.h>
#include <levin/trainer/core/system/error.h>

#include <algorithm>
#include <optional>
#include <set>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostUneven = 5;
constexpr int64_t kTableEpochs = 50;
constexpr double kLargeTarget = 100;

/// A table as it was read, and how.
struct TableLook {
  data::CsvFormat format = {};
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
  format.header =
      std::ranges::none_of(fields, [](const std::string& field) { return data::csv_number(field).has_value(); });
  return format;
}

TableLook look_at(const fs::path& path) {
  const data::MappedFile file(path, data::FileAccess::Sequential);
  const std::string name = path.string();
  TableLook look{.format = format_of(file.text(), name)};
  data::CsvReader reader(file.text(), name, look.format);
  for (const std::string& column : reader.columns()) look.columns.emplace_back(column);
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

/// Returns the column to predict: the one that the options name, one that is called like a target, or the last that can
/// be one; null, with a stop, if there is none.
const Column* target_of(const TableLook& look, const GuessOptions& options, const std::string& file, Guess& guess) {
  static const std::set<std::string> kNames = {"target", "label", "class", "y", "outcome"};
  const Column* found = nullptr;
  std::vector<std::string> names;
  for (const Column& column : look.columns) {
    names.push_back(column.name);
    if (!options.target.empty() ? column.name == options.target : has_values(column)) found = &column;
  }
  if (options.target.empty())
    for (const Column& column : look.columns)
      if (const auto words = words_of_name(column.name); has_values(column) && kNames.contains(words.front()))
        found = &column;
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

void tell_columns(const TableLook& look, const Column* target, Guess& guess, const std::string& file) {
  for (const Column& column : look.columns) {
    const bool is_left_out = &column != target && !has_values(column);
    guess.seen.push_back("  " + column.name + ": " + column.text() +
                         (&column == target
                              ? std::string("  <- the target, ") + (column.has_classes() ? "as classes" : "as a number")
                          : is_left_out ? "  (left out)"
                                        : ""));
    if (column.has_decimal_commas())
      guess.broken.push_back({file + ": column '" + column.name + "' has decimal commas, so its values are texts",
                              "write 3.14 in place of 3,14"});
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
    lacks = lacks || (kind != ColumnKind::Texts && column.absent() > 0 && kind != ColumnKind::Empty);
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
  const TableLook look = look_at(file);
  check(file, look, guess);
  guess.seen.push_back(file.string() + ": " + counted(look.rows, "row") + ", " +
                       counted(static_cast<int64_t>(look.columns.size()), "column") +
                       (look.format.header ? "" : "; without a header: columns are called 0, 1, ..."));
  const Column* target = target_of(look, options, file.string(), guess);
  tell_columns(look, target, guess, file.string());
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
  set_columns(look, *target, guess.config);
  guess.config.set("data", "standardize", true);
  if (!val) set_val_fraction(guess.config, look.rows);
  guess.config.set("data", "batch_size", kGuessedBatch);
  return guess;
}

}  // namespace levin::cli
