#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/core/options/text_table.h>
#include <levin/data/datasets/readers/csv_fields.h>
#include <levin/data/datasets/readers/field_options.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace levin {
namespace data {

/// What the target column holds: one of several classes, or a number.
enum class CsvTargetType : uint8_t { Class, Number };
/// What becomes of a row with a missing value.
enum class CsvMissing : uint8_t {
  Error,
  Mean,  ///< the value becomes the mean of its feature
  Zero,  ///< the value becomes 0
  Drop   ///< the row is left out
};
/// What becomes of a category that the training data lack.
enum class CsvUnknown : uint8_t {
  Error,
  Code  ///< all of them get one code, the last
};
/// The character before the fraction of a number.
enum class DecimalMark : uint8_t { Point, Comma };

}  // namespace data

template <>
inline constexpr auto kWords<data::CsvTargetType> =
    words_of<data::CsvTargetType>({{"class", data::CsvTargetType::Class}, {"number", data::CsvTargetType::Number}});
template <>
inline constexpr auto kWords<data::CsvMissing> = words_of<data::CsvMissing>({{"error", data::CsvMissing::Error},
                                                                             {"mean", data::CsvMissing::Mean},
                                                                             {"zero", data::CsvMissing::Zero},
                                                                             {"drop", data::CsvMissing::Drop}});
template <>
inline constexpr auto kWords<data::CsvUnknown> =
    words_of<data::CsvUnknown>({{"error", data::CsvUnknown::Error}, {"code", data::CsvUnknown::Code}});
template <>
inline constexpr auto kWords<data::DecimalMark> =
    words_of<data::DecimalMark>({{".", data::DecimalMark::Point}, {",", data::DecimalMark::Comma}});

namespace data {

/// The columns of a CSV file to read, and how to read them.
struct CsvDatasetOptions {
  std::vector<std::string> features =
      LEVIN_OPTION(features, {}, "Columns of numbers for `input`; empty: all but categories, target and ignore");
  std::vector<std::string> categories = LEVIN_OPTION(categories, {}, "Columns whose texts become codes for `category`");
  std::vector<std::string> ignore =
      LEVIN_OPTION(ignore, {}, "Columns that are no features, such as a number of the row, where features is empty");
  std::string target = LEVIN_OPTION(target, "", "Column for `target`; empty: none");
  Choice<CsvTargetType> target_type =
      LEVIN_OPTION(target_type, CsvTargetType::Class, "The target is one of several classes, or a number");
  Choice<CsvMissing> missing =
      LEVIN_OPTION(missing, CsvMissing::Error,
                   "A value is missing: stop (error), take the feature's mean or zero, or leave the row out (drop)");
  std::vector<std::string> missing_values =
      LEVIN_OPTION(missing_values, {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"}, "Texts of a missing value");
  bool standardize =
      LEVIN_OPTION(standardize, false, "Subtract each feature's mean and divide by its standard deviation");
  Choice<CsvUnknown> unknown =
      LEVIN_OPTION(unknown, CsvUnknown::Error,
                   "A category that the training data lack: stop (error), or give all of them one code more (code)");
  std::string delimiter = LEVIN_OPTION(delimiter, ",", "The character between two fields");
  Choice<DecimalMark> decimal =
      LEVIN_OPTION(decimal, DecimalMark::Point, "The character before the fraction of a number: 3.14 or 3,14");
  std::string thousands =
      LEVIN_OPTION(thousands, "", "The character between groups of three digits, as in 1,000; empty: none");
  bool header = LEVIN_OPTION(header, true, "The first line names the columns; otherwise their names are 0, 1, ...");
  TextTable fields = LEVIN_OPTION(fields, {},
                                  "Fields of other names that columns of numbers become: {\"pixels\": \"p*\", "
                                  "\"size\": \"width,height\"}; there is "
                                  "then no `input` unless it is named too");
  TextTable lists = LEVIN_OPTION(lists, {},
                                 "Fields that columns of lists become, such as [1, 2, 3] or 1 2 3, whose lengths may "
                                 "differ: {\"input_ids\": \"tokens\"}");
  /// What becomes of the fields in batches; these options appear beside the others, without a prefix.
  FieldOptions field_options = {};
};

/// The distinct texts of one column, numbered in order of first occurrence.
class CsvWords {
 public:
  /// Returns the number of `word`, which is added if it is new.
  int64_t add(std::string_view word);
  const std::vector<std::string>& words() const { return words_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::vector<std::string> words_ = {};
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> numbers_ = {};
};

/// The columns of a CSV file that a dataset uses, before encoding.
struct CsvTable {
  std::string file = {};
  std::vector<std::string> features = {}, categories = {};
  /// The line number of each row that was kept.
  std::vector<int64_t> lines = {};
  /// The number of each such row among all rows of the file, from 0, and the numbers of those that were left out.
  std::vector<int64_t> numbers_of_rows = {}, left_out = {};
  /// [rows, features]; NaN if the value is missing.
  std::vector<float> numbers = {};
  /// [rows, categories]: indices into the column's words. A missing value is the word "".
  std::vector<int64_t> codes = {};
  std::vector<CsvWords> words = {};
  /// [rows]: the target as a number, or the index of its class in `classes`.
  std::vector<float> target_numbers = {};
  std::vector<int64_t> target_codes = {};
  CsvWords classes = {};
  std::vector<CsvField> fields = {};

  int64_t rows() const { return static_cast<int64_t>(lines.size()); }
};

/// How numbers are written.
struct CsvNumberFormat {
  char decimal = '.', thousands = '\0';  ///< zero: no groups of digits
};

/// Throws levin::UsageError if the options contradict each other.
CsvNumberFormat number_format_of(const CsvDatasetOptions& options);
/// Returns the number that a field holds, with spaces around it or not; nothing if it holds none that is finite as
/// float32. Groups of digits may be left out, but not be of another length than three.
std::optional<float> csv_number(std::string_view field, CsvNumberFormat format = {});
/// Returns whether a field, without the spaces around it, is one of `options.missing_values`.
bool is_missing_csv(std::string_view field, const CsvDatasetOptions& options);

/// Reads a CSV file. `features`, if given, replaces the features of the options.
///
/// Throws levin::UsageError that names file, line and column: see CsvReader; also for columns that do not exist, for
/// values that are not numbers or missing, and for a file without rows.
CsvTable read_csv_table(const std::filesystem::path& file, const CsvDatasetOptions& options,
                        const std::vector<std::string>* features = nullptr);

}  // namespace data
}  // namespace levin
