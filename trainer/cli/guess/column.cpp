#include <levin/trainer/cli/guess/column.h>
#include <levin/trainer/cli/commands/report.h>
#include <levin/trainer/cli/guess/common.h>

#include <algorithm>
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

std::string with_point(std::string_view field) {
  std::string text(field);
  std::ranges::replace(text, ',', '.');
  return text;
}

}  // namespace

void Column::add(std::string_view field, const data::CsvDatasetOptions& options) {
  ++rows_;
  if (data::is_missing_csv(field, options)) {
    ++missing_;
    return;
  }
  if (words_.size() < kMostWords && !words_.contains(field)) words_.emplace(field);
  const auto number = data::csv_number(field);
  if (!number) {
    const auto known = texts_.find(field);
    if (known != texts_.end())
      ++known->second;
    else if (texts_.size() < kMostWords)
      texts_.emplace(field, 1);
    with_comma_ += std::ranges::count(field, ',') == 1 && data::csv_number(with_point(field)).has_value();
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
  if (is_number()) return is_counter() ? ColumnKind::Counter : ColumnKind::Number;
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

bool Column::has_decimal_commas() const { return with_comma_ > 0 && with_comma_ + numbers_ + missing_ == rows_; }

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
