#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/tables/json_source.h>
#include <levin/data/tables/module_source.h>
#include <levin/data/tables/table_source.h>
#include <levin/program/guess/array_model.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>
#include <levin/program/guess/table_columns.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using data::TableColumn;
using data::TableSource;

constexpr int64_t kMostRowsLookedAt = 100'000;

/// A column of arrays or lists, and the shape of a sample if all have one.
struct ArrayColumn {
  std::string name = {};
  at::ScalarType type = at::kFloat;
  bool is_text = false;
  std::optional<std::vector<int64_t>> sample = {};
};

/// What was seen of the columns.
struct ColumnsLook {
  std::vector<Column> columns = {};                  ///< with one value a row
  std::map<std::string, at::ScalarType> types = {};  ///< of their numbers; texts have none
  std::map<std::string, int64_t> not_finite = {};    ///< rows with infinity
  std::vector<ArrayColumn> arrays = {};
  int64_t rows = 0;
};

std::unique_ptr<TableSource> open_source(const std::string& format, const std::vector<std::string>& files) {
  if (format == "Parquet") return data::open_with_module("parquet", "row group", files);
  if (format == "Hdf5") return data::open_with_module("hdf5", "block", files);
  return data::open_json_lines(files, [](const auto& columns) { return std::vector<int>(columns.size(), 0); });
}

int64_t row_count(const TableSource& source) {
  int64_t rows = 0;
  for (int64_t block = 0; block < source.block_count(); ++block) rows += source.row_count(block);
  return rows;
}

/// Chooses the columns that can be read together: of those with different numbers of rows, the most.
std::vector<size_t> choose(TableSource& source, const std::string& file, Guess& guess) {
  std::map<int64_t, std::vector<size_t>> by_rows;
  for (size_t i = 0; i < source.columns().size(); ++i) {
    try {
      source.select({i});
      by_rows[row_count(source)].push_back(i);
    } catch (const UsageError& error) {
      guess.broken.push_back({error.what(), "the column is left out"});
    }
  }
  if (by_rows.empty()) return {};
  const auto most = std::ranges::max_element(by_rows, {}, [](const auto& group) { return group.second.size(); });
  for (const auto& [rows, columns] : by_rows) {
    if (rows == most->first) continue;
    std::vector<std::string> names;
    for (const size_t column : columns) names.push_back(source.columns()[column]);
    guess.broken.push_back({file + ": not used, since they have " + counted(rows, "row") + ": " + listed(names),
                            "name those that belong together in data.fields, or a group: \"data.h5:train\""});
  }
  return most->second;
}

/// The text of a value, as a table has it. A text that looks like a number keeps quotes.
std::string text_of(const TableColumn& column, int64_t row, const at::Tensor& numbers) {
  if (std::ranges::binary_search(column.missing, row)) return "";
  if (column.is_text) {
    const std::string& word = column.words[static_cast<size_t>(column.values.const_data_ptr<int64_t>()[row])];
    return data::csv_number(word) ? '"' + word + '"' : word;
  }
  if (numbers.scalar_type() == at::kLong) return std::to_string(numbers.const_data_ptr<int64_t>()[row]);
  const double value = numbers.const_data_ptr<double>()[row];
  if (!std::isfinite(value)) return "";
  std::array<char, 40> text = {};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

void add_values(const TableColumn& values, const std::string& name, int64_t rows, Column& column, ColumnsLook& look) {
  static const data::CsvDatasetOptions options = {.missing_values = {""}};
  const at::Tensor numbers =
      values.is_text ? at::Tensor() : values.values.to(values.values.is_floating_point() ? at::kDouble : at::kLong);
  if (!values.is_text) look.types[name] = values.values.scalar_type();
  for (int64_t row = 0; row < rows; ++row) column.add(text_of(values, row, numbers), options);
  if (numbers.defined() && numbers.is_floating_point())
    look.not_finite[name] += std::count_if(numbers.const_data_ptr<double>(), numbers.const_data_ptr<double>() + rows,
                                           [](double value) { return std::isinf(value); });
}

void add_array(const TableColumn& values, int64_t rows, ArrayColumn& array, bool is_first) {
  std::vector<int64_t> sample = values.values.sizes().slice(1).vec();
  bool is_even = true;
  if (values.is_list) {
    const int64_t length = rows > 0 ? values.ends.front() : 0;
    for (int64_t row = 1; row < rows; ++row)
      is_even = is_even && values.ends[static_cast<size_t>(row)] - values.ends[static_cast<size_t>(row) - 1] == length;
    sample.insert(sample.begin(), length);
  }
  array.type = values.values.scalar_type();
  array.is_text = values.is_text;
  const bool stays = is_first || array.sample == sample;
  array.sample = is_even && stays ? std::optional(std::move(sample)) : std::nullopt;
}

ColumnsLook look_at_columns(TableSource& source, const std::string& file, const GuessOptions& options, Guess& guess) {
  ColumnsLook look;
  const std::vector<size_t> chosen = choose(source, file, guess);
  if (chosen.empty()) return look;
  source.select(chosen);
  look.rows = row_count(source);
  std::map<size_t, Column> columns;
  std::map<size_t, ArrayColumn> arrays;
  int64_t seen = 0;
  for (int64_t block = 0; block < source.block_count() && (options.all || seen < kMostRowsLookedAt); ++block) {
    const std::vector<TableColumn> values = source.read(block, chosen);
    const int64_t rows = source.row_count(block);
    for (size_t i = 0; i < chosen.size(); ++i) {
      const std::string& name = source.columns()[chosen[i]];
      if (values[i].is_list || values[i].values.dim() > 1)
        add_array(values[i], rows, arrays.try_emplace(i, ArrayColumn{.name = name}).first->second, block == 0);
      else
        add_values(values[i], name, rows, columns.try_emplace(i, name).first->second, look);
    }
    seen += rows;
  }
  for (auto& [i, column] : columns) look.columns.push_back(std::move(column));
  for (auto& [i, array] : arrays) look.arrays.push_back(std::move(array));
  if (seen < look.rows) guess.seen.push_back("  looked at " + counted(seen, "row") + "; --all looks at every one");
  return look;
}

/// The names of the columns that a table's model is to learn from, without those that a field cannot name.
struct Features {
  std::vector<std::string> numbers = {}, texts = {};
};

Features features_of(const ColumnsLook& look, const Column* target, const std::string& file, Guess& guess) {
  Features features;
  for (const Column& column : look.columns) {
    if (&column == target || !has_values(column)) continue;
    if (column.name.find_first_of(",*?[") != column.name.npos) {
      guess.broken.push_back({file + ": column '" + column.name + "' is left out, since its name has one of , * ? [",
                              "give it another name"});
      continue;
    }
    (look.types.contains(column.name) ? features.numbers : features.texts).push_back(column.name);
  }
  return features;
}

void check_not_finite(const ColumnsLook& look, const std::vector<std::string>& used, const std::string& file,
                      Guess& guess) {
  for (const std::string& name : used)
    if (const auto found = look.not_finite.find(name); found != look.not_finite.end() && found->second > 0)
      guess.stops.push_back({file + ": column '" + name + "' has infinite values in " + counted(found->second, "row"),
                             "a loss of such values is NaN; save them as missing values, or leave these rows out"});
}

/// Sets the types that losses need: classes int64, numbers float32. Returns false, with a stop, for class numbers that
/// do not count from 0.
bool set_target_type(const ColumnsLook& look, const Column& target, const std::string& file, Json& dtypes,
                     Guess& guess) {
  const auto type = look.types.find(target.name);
  if (type == look.types.end()) return true;
  const bool is_whole = c10::isIntegralType(type->second, /*includeBool=*/false);
  if (target.has_classes() && !target.are_classes_from_zero()) {
    guess.stops.push_back(
        {file + ": column '" + target.name + "' has class numbers that are not 0, 1, 2, ...: " + target.text(),
         "save the classes as texts, which are numbered in their order, or number them from 0"});
    return false;
  }
  if (target.has_classes() && !is_whole) dtypes["target"] = "int64";
  if (!target.has_classes() && is_whole) dtypes["target"] = "float32";
  return true;
}

std::vector<std::string> names_of(const Paths& files, Part part) {
  std::vector<std::string> names;
  for (const fs::path& file : files)
    if (files.size() == 1 || part_of(file) == part) names.push_back(file.string());
  return names;
}

void set_files(const Paths& files, const std::string& format, Json fields, const Json& dtypes,
               CommentedConfig& config) {
  config.set("data", "class", format);
  config.set("data", "files", names_of(files, Part::Train));
  if (files.size() > 1)
    for (const auto& [part, option] : {std::pair(Part::Val, "val_files"), std::pair(Part::Test, "test_files")})
      if (const auto names = names_of(files, part); !names.empty()) config.set("data", option, names);
  config.set("data", "fields", std::move(fields));
  if (!dtypes.empty()) config.set("data", "dtypes", dtypes);
}

}  // namespace

Guess guess_columns(const Paths& files, const std::string& format, const GuessOptions& options) {
  Guess guess{.kind = format == "Parquet" ? "a table in Parquet" : format == "Hdf5" ? "HDF5" : "JSON lines"};
  const std::vector<std::string> train = names_of(files, Part::Train);
  const std::vector<std::string>& read = train.empty() ? names_of(files, part_of(files.front())) : train;
  const std::string& file = read.front();
  ColumnsLook look;
  try {
    const std::unique_ptr<TableSource> source = open_source(format, read);
    look = look_at_columns(*source, file, options, guess);
  } catch (const UsageError& error) {
    guess.stops.push_back(fault_of(error, "repair the file, or save it again"));
    return guess;
  }
  guess.seen.insert(guess.seen.begin(), file +
                                            (read.size() > 1 ? " and " + counted(std::ssize(read) - 1, "file") : "") +
                                            ": " + counted(look.rows, "row") + ", " +
                                            counted(std::ssize(look.columns) + std::ssize(look.arrays), "column"));
  const Column* target = target_of(look.columns, options, file, guess);
  tell_columns(look.columns, target, options.target.empty(), guess, file, "leave the column out of data.fields");
  for (const ArrayColumn& array : look.arrays)
    guess.seen.push_back("  " + array.name + ": " + (array.is_text ? "lists of texts" : "lists of numbers") +
                         (array.sample ? c10::str(" ", at::IntArrayRef(*array.sample)) : " of different lengths"));
  if (!target || !guess.stops.empty()) return guess;
  const Features features = features_of(look, target, file, guess);
  const auto input =
      std::ranges::find_if(look.arrays, [](const ArrayColumn& one) { return one.sample && !one.is_text; });
  const bool is_array = features.numbers.empty() && features.texts.empty() && input != look.arrays.end();
  if (features.numbers.empty() && features.texts.empty() && !is_array)
    guess.stops.push_back({file + ": no column is left to predict '" + target->name + "' from",
                           "add columns of numbers, of texts that come again, or of lists of one length"});
  for (const ArrayColumn& array : look.arrays)
    if (!is_array || array.name != input->name)
      guess.broken.push_back({file + ": the lists of '" + array.name + "' are not used",
                              "name them for a field in data.fields, of a model that takes them"});
  std::vector<std::string> used = features.numbers;
  used.push_back(target->name);
  check_not_finite(look, used, file, guess);
  Json fields = Json::object(), dtypes = Json::object();
  if (!set_target_type(look, *target, file, dtypes, guess) || !guess.stops.empty()) return guess;
  const bool has_classes = target->has_classes();
  set_training(guess.config, is_array ? "arrays" : "table", is_array ? kGuessedArrayEpochs : kGuessedTableEpochs);
  if (is_array) {
    fields["input"] = input->name;
    if (input->type != at::kFloat && !c10::isFloatingType(input->type)) dtypes["input"] = "float32";
    set_array_model(*input->sample, at::kFloat, {.classes = has_classes ? target->distinct() : 0}, input->name, guess);
    if (!guess.stops.empty()) return guess;
  } else {
    guess.config.set("model", "class", has_classes ? "MLPClassifier" : "MLPRegressor",
                     "it takes its sizes from the data");
    if (has_classes && look.types.contains(target->name)) guess.config.set("model", "num_classes", target->distinct());
    set_optimizer(guess.config);
    if (!features.numbers.empty()) fields["input"] = joined(features.numbers);
    if (!features.texts.empty()) fields["category"] = joined(features.texts);
  }
  fields["target"] = target->name;
  set_files(files, format, std::move(fields), dtypes, guess.config);
  set_missing(look.columns, *target, guess.config);
  if (!features.texts.empty())
    guess.config.set("data", "unknown", "code", "texts that come in other files alone share one number");
  if (!features.numbers.empty()) guess.config.set("data", "standardize", true);
  if (files.size() > 1 && !names_of(files, Part::Val).empty())
    set_best_checkpoint(guess.config);
  else
    set_val_fraction(guess.config, look.rows);
  guess.config.set("data", "batch_size", kGuessedBatch);
  return guess;
}

}  // namespace levin::cli
