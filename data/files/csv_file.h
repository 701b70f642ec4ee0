#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

struct CsvFormat {
  char delimiter = ',';
  /// Whether the first record holds the columns' names; without, they are "0", "1", ...
  bool header = true;
};

/// The records of a CSV text, one after the other. Source: RFC 4180.
///
/// Fields may be quoted, with `""` for a quote, and then hold delimiters and line ends. Lines end in LF, CRLF or CR;
/// blank ones are left out, and so is a byte order mark. A quote inside a field that does not begin with one is plain
/// text. The text is UTF-8. Errors are levin::UsageError and begin `name:line: `, with lines counted from 1.
class CsvReader {
 public:
  /// Reads the header. `text` must stay alive; `name` stands in messages. Throws levin::UsageError for UTF-16 and for a
  /// delimiter that is a quote or a line end.
  CsvReader(std::string_view text, std::string name, CsvFormat format = {});

  const std::vector<std::string>& columns() const { return columns_; }
  /// The number of the column of this name; throws levin::UsageError that names the nearest, or for a name that two
  /// have.
  size_t column(const std::string& name) const;

  /// Goes to the next record; false at the end. Throws levin::UsageError for another number of fields than columns, a
  /// quote without an end, text behind the closing quote, and bytes that are no UTF-8.
  bool next();
  /// A field of the record, which stays valid until `next`.
  std::string_view operator[](size_t column) const { return fields_[column]; }
  /// The line on which the record begins.
  int64_t line() const { return record_line_; }

  /// Throws levin::UsageError "name:line: column 'c': what".
  [[noreturn]] void fail(size_t column, const std::string& what) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  bool read_record();
  void check_utf8() const;
  std::string_view read_field();
  std::string_view read_quoted();
  bool at_end() const { return position_ == text_.size(); }
  bool take_line_end();

  std::string_view text_;
  std::string name_;
  CsvFormat format_;
  bool is_ascii_;  ///< all of the text: then there is nothing to check
  size_t position_ = 0;
  int64_t line_ = 1, record_line_ = 1;
  std::vector<std::string> columns_ = {};
  std::vector<std::string_view> fields_ = {};
  std::deque<std::string> unescaped_ = {};  // what fields_ point to where the text itself does not serve
};

/// A field as messages show it: in quotes, and cut where it is long.
std::string shown_field(std::string_view field);

}  // namespace levin::data
