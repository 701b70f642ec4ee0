#include <levin/program/guess/table_columns.h>
#include <levin/core/system/error.h>
#include <levin/program/guess/common.h>

#include <algorithm>
#include <set>

namespace levin::cli {
namespace {

/// Returns whether a column stands for its row alone.
bool names_rows(const Column& column) {
  return column.kind() == ColumnKind::Counter || column.kind() == ColumnKind::Id || column.kind() == ColumnKind::Texts;
}

/// Returns the column to predict without a name to go by: the last that can be one, but if that has numbers, the first
/// column if it has one of two texts, behind what names the rows; null if there is none.
const Column* likely_target(const std::vector<Column>& columns) {
  const auto first = std::ranges::find_if_not(columns, names_rows);
  const auto last = std::find_if(columns.rbegin(), columns.rend(), has_values);
  if (last == columns.rend()) return nullptr;
  const bool first_has_two = first->kind() == ColumnKind::Category && first->distinct() == 2;
  return first_has_two && !last->has_classes() ? &*first : &*last;
}

/// Returns what is done with a column, behind its description.
std::string use_of(const Column& column, const Column* target, bool is_guessed, const std::string& leave_out) {
  if (&column == target)
    return std::string("  <- the target, ") + (column.has_classes() ? "as classes" : "as a number") +
           (is_guessed ? "; --target names another" : "");
  if (!has_values(column)) return "  (left out)";
  constexpr int64_t kManyRows = 20;
  const bool may_be_ids = column.is_all_different() && column.distinct() >= kManyRows;
  return may_be_ids ? "  (all different: if they name the rows, " + leave_out + ")" : "";
}

}  // namespace

bool has_values(const Column& column) {
  return column.kind() == ColumnKind::Number || column.kind() == ColumnKind::Category;
}

const Column* target_of(const std::vector<Column>& columns, const GuessOptions& options, const std::string& file,
                        Guess& guess) {
  static const std::set<std::string> kNames = {"target", "label", "class", "y", "outcome"};
  const Column* found = options.target.empty() ? likely_target(columns) : nullptr;
  std::vector<std::string> names;
  for (const Column& column : columns) {
    names.push_back(column.name);
    const bool is_named = options.target.empty()
                              ? has_values(column) && kNames.contains(words_of_name(column.name).front())
                              : column.name == options.target;
    if (is_named) found = &column;
  }
  if (!found && !options.target.empty())
    throw UsageError("--target: ", file, " has no column '", options.target, "'", did_you_mean(options.target, names),
                     "; it has ", listed(names));
  if (!found)
    guess.stops.push_back({file + ": no column can be predicted", "a target has numbers, or classes that come again"});
  else if (!has_values(*found))
    guess.stops.push_back({file + ": column '" + found->name + "' cannot be predicted: " + found->text(),
                           "name another column with --target"});
  return found;
}

void tell_columns(const std::vector<Column>& columns, const Column* target, bool is_guessed, Guess& guess,
                  const std::string& file, const std::string& leave_out) {
  for (const Column& column : columns) {
    guess.seen.push_back("  " + column.name + ": " + column.text() + use_of(column, target, is_guessed, leave_out));
    const std::string place = file + ": column '" + column.name + "' ";
    if (column.kind() == ColumnKind::Date)
      guess.broken.push_back(
          {place + "has dates, which are left out",
           "add columns of numbers that matter: the year, the month, the days since the first date"});
    if (const std::string example = column.number_with_unit(); !example.empty())
      guess.broken.push_back({place + "has numbers with other characters, such as " + example + ", so they are texts",
                              "write the number alone"});
  }
}

void set_missing(const std::vector<Column>& columns, const Column& target, CommentedConfig& config) {
  const bool lacks =
      std::ranges::any_of(columns, [](const Column& one) { return has_values(one) && one.absent() > 0; });
  if (target.absent() > 0)
    config.set("data", "missing", "drop", "rows that lack a value are left out, since some lack the target");
  else if (lacks)
    config.set("data", "missing", "mean",
               "a number that is missing becomes the mean of its column; drop leaves the row out");
}

std::optional<std::filesystem::path> file_of(const Paths& files, Part part) {
  for (const std::filesystem::path& file : files)
    if (part_of(file) == part) return file;
  return {};
}

}  // namespace levin::cli
