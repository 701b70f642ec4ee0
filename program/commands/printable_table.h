#pragma once
#include <levin/program/cli/text_table.h>

#include <string>

namespace levin::cli {

/// Print to standard output what a run's files say, which anybody may have written, without the characters that control
/// a terminal.
void print_printable(const std::string& line);
void print_printable(Table table);

}  // namespace levin::cli
