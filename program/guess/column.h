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
  Id,        ///< whole numbers, all different, in a column that is called like an id
  Category,  ///< few different texts
  Date,      ///< dates, with times or without
  Texts      ///< texts that hardly come twice: names, sentences
};

/// The findings about a column of a table.
class Column {
 public:
  /// `format`: how numbers are written.
  explicit Column(std::string name_, data::CsvNumberFormat format = {}) : name(std::move(name_)), format_(format) {}
  void add(std::string_view field, const data::CsvDatasetOptions& options);

  ColumnKind kind() const;
  /// Returns whether the column, as a target, has classes rather than numbers.
  bool has_classes() const;
  /// Returns the texts among numbers that are taken for missing values, such as "?"; empty if the kind is no number.
  std::vector<std::string> markers() const;
  /// Returns whether all values are numbers if they are written so, and some are not otherwise.
  bool is_written(data::CsvNumberFormat format) const;
  /// Returns an example of numbers with other characters around them, "12%"; empty if the texts are something else.
  std::string number_with_unit() const;
  /// Returns whether all values are different whole numbers, as many as may be ids.
  bool is_all_different() const;
  /// Returns the number of rows without a value.
  int64_t absent() const;
  /// Returns one line: the kind, with examples or limits.
  std::string text() const;
  int64_t distinct() const { return static_cast<int64_t>(words_.size()); }
  double magnitude() const;
  /// Returns whether the values are 0, 1, 2, ... up to the number of different ones.
  bool are_classes_from_zero() const { return least_ == 0 && most_ == static_cast<double>(distinct() - 1); }

  std::string name;

 private:
  bool is_number() const;
  /// Returns the number of rows whose value is no number.
  int64_t rows_of_texts() const;
  bool is_counter() const { return numbers_ > 2 && numbers_ == rows_ && counts_ == numbers_ - 1; }

  bool are_dates() const;

  data::CsvNumberFormat format_;
  int64_t rows_ = 0, missing_ = 0, numbers_ = 0, whole_ = 0, counts_ = 0;
  double least_ = 0, most_ = 0, last_ = 0;
  std::set<std::string, std::less<>> words_ = {};  ///< different values, of which no more than kMostWords are kept
  std::map<std::string, int64_t, std::less<>> texts_ = {};  ///< values that are no numbers, with their rows
};

}  // namespace levin::cli
