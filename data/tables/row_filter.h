#pragma once
#include <levin/data/tables/table_source.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

/// The conditions of the option `where`: a column, one of == = != < <= > >=, and a number, true, false or a text, with
/// quotes or without.
class RowFilter {
 public:
  /// Throws levin::UsageError for a condition that is none, or names no column.
  RowFilter(const std::vector<std::string>& conditions, const std::vector<std::string>& columns);

  bool empty() const { return conditions_.empty(); }
  /// Returns the columns of the conditions, one for each.
  std::vector<size_t> columns() const;
  /// Returns false if no row fulfils all conditions where the columns have these ranges; one that is unset is unknown.
  bool may_match(const std::vector<std::optional<ColumnRange>>& ranges) const;
  /// Returns whether each row fulfils all conditions; `columns` are those of `columns()`. A missing value fulfils
  /// none. Throws levin::UsageError for lists, and for a number that is compared with a text.
  std::vector<char> matches(const std::vector<const TableColumn*>& columns, int64_t rows) const;

 private:
  enum class Comparison { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };
  struct Condition {
    std::string text = {};  ///< as it was given
    size_t column = 0;
    Comparison comparison = Comparison::Equal;
    std::string value = {};
    std::optional<long double> number = {};
  };
  static Condition parse(const std::string& text, const std::vector<std::string>& columns);
  template <class T>
  static bool compare(const T& left, Comparison comparison, const T& right);
  template <class T>
  static bool may_hold(const T& least, const T& greatest, Comparison comparison, const T& value);
  static void apply(const Condition& condition, const TableColumn& column, std::vector<char>& keep);

  std::vector<Condition> conditions_ = {};
};

}  // namespace levin::data
