#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

struct CsvFormat {
  char delimiter = ',';
  /// Whether the first record holds the column names; otherwise they are "0", "1", ...
  bool header = true;
};

/// A record with more bytes, or more fields, is an error: a file whose line ends are missing is no table.
inline constexpr size_t kMostCsvBytes = size_t{64} << 20, kMostCsvFields = size_t{1} << 20;

/// Reads the records of a CSV text in sequence. Source: RFC 4180.
///
/// Fields may be quoted, with `""` for a quote, and may then hold delimiters and line ends. Lines end in LF, CRLF or
/// CR; blank lines and a byte order mark are skipped. A quote inside a field that does not start with one is plain
/// text. The text is UTF-8. Errors are levin::UsageError and start with `name:line: `, with lines counted from 1.
class CsvReader {
 public:
  /// Reads the header. `text` must stay alive; `name` is used in messages. Throws levin::UsageError for UTF-16 and for
  /// a delimiter that is a quote or a line end.
  CsvReader(std::string_view text, std::string name, CsvFormat format = {});

  const std::vector<std::string>& columns() const { return columns_; }
  /// Returns the index of the column of this name. Throws levin::UsageError, which suggests the nearest name, if no
  /// column has it, and if two columns have it.
  size_t column(const std::string& name) const;

  /// Goes to the next record; false at the end. Throws levin::UsageError if the record has another number of fields
  /// than there are columns, for one that is too long, an unterminated quote, text after a closing quote, and invalid
  /// UTF-8.
  bool next();
  /// Goes to the next record whatever its number of fields; otherwise as `next`.
  bool next_uneven() { return read_record(); }
  /// Returns the number of the record's fields.
  size_t fields() const { return fields_.size(); }
  /// Returns a field of the record, valid until `next`.
  std::string_view operator[](size_t column) const { return fields_[column]; }
  /// Returns the line on which the record starts.
  int64_t line() const { return record_line_; }

  /// Throws levin::UsageError "name:line: column 'c': what".
  [[noreturn]] void fail(size_t column, const std::string& what) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  bool read_record();
  void check_utf8() const;
  std::string_view read_field();
  std::string_view read_quoted();
  void check_length() const;
  bool at_end() const { return position_ == text_.size(); }
  bool take_line_end();

  std::string_view text_;
  std::string name_;
  CsvFormat format_;
  bool is_ascii_;  ///< the whole text is ASCII, so it needs no UTF-8 check
  size_t position_ = 0, record_begin_ = 0;
  int64_t line_ = 1, record_line_ = 1;
  std::vector<std::string> columns_ = {};
  std::vector<std::string_view> fields_ = {};
  std::deque<std::string> unescaped_ = {};  // storage for fields that are not a slice of the text
};

/// Returns a field for messages: in quotes, and cut if it is long.
std::string shown_field(std::string_view field);

}  // namespace levin::data
