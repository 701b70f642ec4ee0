#pragma once
#include <levin/data/datasets/readers/csv_table.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace levin::cli {

/// What the values of a column are taken for.
enum class ColumnKind {
  Empty,     ///< all values are missing
  Constant,  ///< one value
  Number,
  Counter,   ///< whole numbers that grow by 1 from row to row: the number of the row
  Category,  ///< few different texts
  Texts      ///< texts that hardly come twice: names, sentences
};

/// The findings about a column of a table.
class Column {
 public:
  explicit Column(std::string name_) : name(std::move(name_)) {}
  void add(std::string_view field, const data::CsvDatasetOptions& options);

  ColumnKind kind() const;
  /// Returns whether the column, as a target, has classes rather than numbers.
  bool has_classes() const;
  /// Returns the texts among numbers that are taken for missing values, such as "?"; empty if the kind is no number.
  std::vector<std::string> markers() const;
  /// Returns whether texts become numbers if a comma is read as the decimal point.
  bool has_decimal_commas() const;
  /// Returns the number of rows without a value.
  int64_t absent() const;
  /// Returns one line: the kind, with examples or limits.
  std::string text() const;
  int64_t distinct() const { return static_cast<int64_t>(words_.size()); }
  double magnitude() const;

  std::string name;

 private:
  bool is_number() const;
  /// Returns the number of rows whose value is no number.
  int64_t rows_of_texts() const;
  bool is_counter() const { return numbers_ > 2 && numbers_ == rows_ && counts_ == numbers_ - 1; }

  int64_t rows_ = 0, missing_ = 0, numbers_ = 0, whole_ = 0, counts_ = 0, with_comma_ = 0;
  double least_ = 0, most_ = 0, last_ = 0;
  std::set<std::string, std::less<>> words_ = {};  ///< different values, of which no more than kMostWords are kept
  std::map<std::string, int64_t, std::less<>> texts_ = {};  ///< values that are no numbers, with their rows
};

}  // namespace levin::cli
