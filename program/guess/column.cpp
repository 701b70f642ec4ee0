#include <levin/program/guess/column.h>
#include <levin/program/cli/report.h>
#include <levin/program/guess/common.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

namespace levin::cli {
namespace {

constexpr size_t kMostWords = 20'000;
constexpr int64_t kMostValuesOfClass = 20;  ///< whole numbers with more different values are amounts
constexpr int64_t kRowsOfClass = 5;         ///< the least number of rows for each value
constexpr int64_t kMostCategories = 1000;
constexpr int64_t kMostMarkers = 3;      ///< different texts among numbers that may stand for a missing value
constexpr int64_t kNumbersOfMarker = 4;  ///< the least number of numbers for each of these texts

constexpr size_t kMostTextBytes = 1000;  ///< of a longer text the beginning and the end are kept

/// Returns what is kept of a text; `memory` holds it if it is no part of the text.
std::string_view kept_text(std::string_view text, std::string& memory) {
  if (text.size() <= kMostTextBytes) return text;
  const auto is_inside = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80; };
  size_t begin = kMostTextBytes / 2, end = text.size() - begin;
  while (begin > 0 && is_inside(begin)) --begin;
  while (end < text.size() && is_inside(end)) ++end;
  memory = std::string(text.substr(0, begin)) + "..." + std::string(text.substr(end));
  return memory;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the number of digits at the beginning, which are removed.
size_t take_digits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  text.remove_prefix(count);
  return count;
}

/// Returns whether a text is a date: 2024-07-02, 02.07.2024, 7/2/24, with a time behind it or not.
bool is_date(std::string_view text) {
  const size_t first = take_digits(text);
  if (text.empty() || (text[0] != '-' && text[0] != '.' && text[0] != '/')) return false;
  const char separator = text[0];
  text.remove_prefix(1);
  const size_t second = take_digits(text);
  if (text.empty() || text[0] != separator) return false;
  text.remove_prefix(1);
  const size_t third = take_digits(text);
  const auto is_short = [](size_t digits) { return digits == 1 || digits == 2; };
  if (!is_short(second) || !((first == 4 && is_short(third)) || (is_short(first) && (third == 4 || third == 2))))
    return false;
  if (text.empty()) return true;
  return (text[0] == 'T' || text[0] == ' ') && text.size() > 1 && is_digit(text[1]) &&
         text.find_first_not_of("0123456789:.+-Z", 1) == std::string_view::npos;
}

/// Divides a text into a number and what stands before and behind it.
struct NumberWithUnit {
  explicit NumberWithUnit(std::string_view text) {
    constexpr const char* kDigits = "0123456789";
    size_t begin = text.find_first_of(kDigits);
    const size_t end = text.find_last_of(kDigits);
    if (begin == text.npos) return;
    if (begin > 0 && (text[begin - 1] == '-' || text[begin - 1] == '+')) --begin;
    const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
    if (std::ranges::any_of(text.substr(0, begin), is_letter)) return;  // a name, such as A12
    unit = std::string(text.substr(0, begin)) + '\0' + std::string(text.substr(end + 1));
    number = text.substr(begin, end + 1 - begin);
  }
  std::string unit = {};
  std::string_view number = {};
};

bool is_called_like_id(const std::string& name) {
  static const std::set<std::string, std::less<>> kNames = {"id", "ids", "uuid", "guid", "key", "index", "idx"};
  const auto words = words_of_name(name);
  const bool ends_so = name.size() > 2 && (name.ends_with("Id") || name.ends_with("ID"));
  return ends_so || std::ranges::any_of(words, [](const std::string& word) { return kNames.contains(word); });
}

}  // namespace

void Column::add(std::string_view field, const data::CsvDatasetOptions& options) {
  ++rows_;
  if (data::is_missing_csv(field, options)) {
    ++missing_;
    return;
  }
  const auto number = data::csv_number(field, format_);
  std::string memory;
  field = kept_text(field, memory);
  if (words_.size() < kMostWords && !words_.contains(field)) words_.emplace(field);
  if (!number) {
    const auto known = texts_.find(field);
    if (known != texts_.end())
      ++known->second;
    else if (texts_.size() < kMostWords)
      texts_.emplace(field, 1);
    return;
  }
  const auto value = static_cast<double>(*number);
  const bool is_whole = value == std::floor(value);
  counts_ += numbers_ > 0 && is_whole && value == last_ + 1;
  least_ = numbers_ == 0 ? value : std::min(least_, value);
  most_ = numbers_ == 0 ? value : std::max(most_, value);
  last_ = value;
  whole_ += is_whole;
  ++numbers_;
}

int64_t Column::rows_of_texts() const {
  int64_t total = 0;
  for (const auto& [text, rows] : texts_) total += rows;
  return total;
}

bool Column::is_number() const {
  return numbers_ > 0 && static_cast<int64_t>(texts_.size()) <= kMostMarkers &&
         numbers_ >= kNumbersOfMarker * rows_of_texts();
}

ColumnKind Column::kind() const {
  if (missing_ == rows_) return ColumnKind::Empty;
  if (distinct() == 1) return ColumnKind::Constant;
  if (is_number() && is_counter()) return ColumnKind::Counter;
  if (is_number()) return is_all_different() && is_called_like_id(name) ? ColumnKind::Id : ColumnKind::Number;
  if (are_dates()) return ColumnKind::Date;
  const bool comes_again = distinct() <= kMostCategories && distinct() * 2 <= rows_;
  return comes_again ? ColumnKind::Category : ColumnKind::Texts;
}

bool Column::has_classes() const {
  if (kind() != ColumnKind::Number) return kind() == ColumnKind::Category;
  return whole_ == numbers_ && texts_.empty() && distinct() <= kMostValuesOfClass && rows_ >= kRowsOfClass * distinct();
}

std::vector<std::string> Column::markers() const {
  std::vector<std::string> markers;
  if (is_number())
    for (const auto& [text, rows] : texts_) markers.push_back(text);
  return markers;
}

bool Column::is_written(data::CsvNumberFormat format) const {
  return !texts_.empty() && std::ranges::all_of(texts_, [&](const auto& text) {
    return data::csv_number(text.first, format).has_value();
  });
}

bool Column::are_dates() const {
  return numbers_ == 0 && !texts_.empty() &&
         std::ranges::all_of(texts_, [](const auto& text) { return is_date(text.first); });
}

std::string Column::number_with_unit() const {
  if (texts_.empty() || numbers_ > 0 || are_dates()) return "";
  const std::string unit = NumberWithUnit(texts_.begin()->first).unit;
  for (const auto& [text, rows] : texts_) {
    const NumberWithUnit parts(text);
    const bool is_number = data::csv_number(parts.number) || data::csv_number(parts.number, {.decimal = ','}) ||
                           data::csv_number(parts.number, {.thousands = ','});
    if (parts.unit.size() < 2 || parts.unit != unit || !is_number) return "";
  }
  return texts_.begin()->first;
}

bool Column::is_all_different() const {
  constexpr int64_t kLeastIds = 3;
  const bool are_different = distinct() == numbers_ || words_.size() == kMostWords;
  return numbers_ >= kLeastIds && whole_ == numbers_ && texts_.empty() && are_different;
}

int64_t Column::absent() const { return missing_ + (is_number() ? rows_of_texts() : 0); }

double Column::magnitude() const { return std::max(std::abs(least_), std::abs(most_)); }

std::string Column::text() const {
  std::string text;
  switch (kind()) {
    case ColumnKind::Empty:
      return "no value in any row";
    case ColumnKind::Constant:
      return "the same value in all rows: " + *words_.begin();
    case ColumnKind::Counter:
      text = "a number of the row";
      break;
    case ColumnKind::Id:
      text = "ids, all different";
      break;
    case ColumnKind::Date:
      text = "dates: " + listed(std::vector<std::string>(words_.begin(), words_.end()));
      break;
    case ColumnKind::Number:
      text = std::string(whole_ == numbers_ ? "whole numbers" : "numbers") + " from " + short_number(least_) + " to " +
             short_number(most_);
      break;
    case ColumnKind::Category:
    case ColumnKind::Texts:
      text = counted(distinct(), "text") + ": " + listed(std::vector<std::string>(words_.begin(), words_.end()));
      break;
  }
  if (words_.size() == kMostWords) text += " (of more, the first)";
  for (const std::string& marker : markers()) text += ", and the text " + marker;
  if (absent() > 0) text += "; missing in " + counted(absent(), "row");
  return text;
}

}  // namespace levin::cli
