#include <levin/data/files/csv_file.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <utility>

namespace levin::data {
namespace {

constexpr size_t kMostNamesShown = 20;
constexpr size_t kMostBytesShown = 40;

/// Returns the position of the first invalid UTF-8; npos if there is none.
size_t first_invalid(std::string_view text) {
  for (size_t position = 0; position < text.size();)
    if (next_code_point(text, position) == kInvalidUtf8) return position;
  return std::string_view::npos;
}

std::string hexadecimal(char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%02X", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return text;
}

}  // namespace

std::string shown_field(std::string_view field) {
  if (field.size() <= kMostBytesShown) return "'" + std::string(field) + "'";
  return "'" + std::string(field.substr(0, kMostBytesShown)) + "...'";
}

CsvReader::CsvReader(std::string_view text, std::string name, CsvFormat format)
    : text_(text), name_(std::move(name)), format_(format), is_ascii_(is_ascii(text)) {
  if (format_.delimiter == '"' || format_.delimiter == '\n' || format_.delimiter == '\r') {
    throw UsageError(name_, ": the delimiter cannot be a quote or a line end");
  }
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) {
    throw UsageError(name_, ": is UTF-16; save it as UTF-8");
  }
  if (text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
  const auto [position, line] = std::pair(position_, line_);
  if (!read_record()) throw UsageError(name_, ": no ", format_.header ? "header" : "rows", ": the file is blank");
  for (size_t i = 0; i < fields_.size(); ++i) {
    columns_.push_back(format_.header ? std::string(fields_[i]) : std::to_string(i));
  }
  if (!format_.header) std::tie(position_, line_) = std::pair(position, line);
}

size_t CsvReader::column(const std::string& name) const {
  const auto found = std::ranges::find(columns_, name);
  if (found == columns_.end()) {
    std::string names;
    for (size_t i = 0; i < std::min(columns_.size(), kMostNamesShown); ++i) names += (i ? ", " : "") + columns_[i];
    throw UsageError(name_, ": no column '", name, "'", did_you_mean(name, columns_), "; it has ", names,
                     columns_.size() > kMostNamesShown ? ", ..." : "");
  }
  if (std::find(found + 1, columns_.end(), name) != columns_.end()) {
    throw UsageError(name_, ": two columns have the name '", name, "'");
  }
  return static_cast<size_t>(found - columns_.begin());
}

bool CsvReader::next() {
  if (!read_record()) return false;
  if (fields_.size() != columns_.size()) {
    fail(std::to_string(fields_.size()) + " fields, but the " + (format_.header ? "header" : "first row") + " has " +
         std::to_string(columns_.size()));
  }
  return true;
}

bool CsvReader::read_record() {
  while (take_line_end()) {
  }
  if (at_end()) return false;
  record_line_ = line_;
  record_begin_ = position_;
  fields_.clear();
  unescaped_.clear();
  while (true) {
    fields_.push_back(read_field());
    check_length();
    if (at_end() || text_[position_] != format_.delimiter) break;
    ++position_;
  }
  take_line_end();
  if (!is_ascii_) check_utf8();
  return true;
}

void CsvReader::check_length() const {
  if (position_ - record_begin_ > kMostCsvBytes) {
    fail("the line has more than " + std::to_string(kMostCsvBytes >> 20) +
         " MB; look whether the file has line ends, and each quote its second one");
  }
  if (fields_.size() > kMostCsvFields) {
    fail("the line has more than " + std::to_string(kMostCsvFields) +
         " fields; look whether the file has line ends, and save that many numbers as an array (.npy)");
  }
}

void CsvReader::check_utf8() const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    const size_t position = first_invalid(fields_[i]);
    if (position == std::string_view::npos) continue;
    const std::string column = i < columns_.size() ? "'" + columns_[i] + "'" : std::to_string(i + 1);
    throw UsageError(name_, ":", record_line_, ": column ", column, ", byte ", position + 1,
                     " of the field: ", hexadecimal(fields_[i][position]),
                     " is no UTF-8; save the file as UTF-8 (`iconv -f LATIN1 -t UTF-8`, where it is Latin-1)");
  }
}

bool CsvReader::take_line_end() {
  if (at_end() || (text_[position_] != '\n' && text_[position_] != '\r')) return false;
  position_ += text_.substr(position_).starts_with("\r\n") ? 2 : 1;
  ++line_;
  return true;
}

std::string_view CsvReader::read_field() {
  if (!at_end() && text_[position_] == '"') return read_quoted();
  const size_t begin = position_;
  const auto ends = [&](char c) { return c == format_.delimiter || c == '\n' || c == '\r'; };
  while (!at_end() && !ends(text_[position_])) ++position_;
  return text_.substr(begin, position_ - begin);
}

std::string_view CsvReader::read_quoted() {
  std::string* unescaped = nullptr;
  std::string_view field;
  for (bool more = true; more;) {
    const size_t begin = position_ + 1;  // after the quote
    const size_t end = text_.find('"', begin);
    if (end == text_.npos) fail("a quote that is never closed");
    field = text_.substr(begin, end - begin);
    line_ += std::ranges::count(field, '\n');
    position_ = end + 1;
    check_length();
    more = text_.substr(end).starts_with("\"\"");
    if (more && !unescaped) unescaped = &unescaped_.emplace_back();
    if (unescaped) unescaped->append(field).append(more ? "\"" : "");
  }
  const char behind = at_end() ? '\n' : text_[position_];
  if (behind != format_.delimiter && behind != '\n' && behind != '\r') {
    fail("field " + std::to_string(fields_.size() + 1) +
         ": text behind the closing quote; a quote inside is written \"\"");
  }
  return unescaped ? std::string_view(*unescaped) : field;
}

void CsvReader::fail(const std::string& what) const { throw UsageError(name_, ":", record_line_, ": ", what); }

void CsvReader::fail(size_t column, const std::string& what) const {
  throw UsageError(name_, ":", record_line_, ": column '", columns_[column], "': ", what);
}

}  // namespace levin::data
