#pragma once
#include <levin/program/guess/column.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/guess.h>
#include <levin/program/guess/kinds.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// What the kinds of tables share.
namespace levin::cli {

/// Returns whether a model can learn from the column, or predict it.
bool has_values(const Column& column);
/// Returns the column to predict: the one that the options name, one that is called like a target, or the likeliest;
/// null, with a stop, if there is none.
const Column* target_of(const std::vector<Column>& columns, const GuessOptions& options, const std::string& file,
                        Guess& guess);
/// Tells each column and what is done with it. `leave_out` says how a column is left out.
void tell_columns(const std::vector<Column>& columns, const Column* target, bool is_guessed, Guess& guess,
                  const std::string& file, const std::string& leave_out);
/// Sets `missing` to what is done with rows that lack values.
void set_missing(const std::vector<Column>& columns, const Column& target, CommentedConfig& config);
/// Returns the first file of a part.
std::optional<std::filesystem::path> file_of(const Paths& files, Part part);

}  // namespace levin::cli
