#pragma once
#include <levin/modules/program/exported_program.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::program {

/// A size that inputs of a program share and that may change.
struct Symbol {
  std::string name = {};     ///< in the program: "s0"
  std::string meaning = {};  ///< the user's: "batch"
  int64_t factor = 1;        ///< the size is the symbol times this
  Range range = {};          ///< of the symbol
  struct Place {
    std::string input;  ///< the value
    int64_t dim;
  };
  std::vector<Place> places = {};  ///< dimensions with this size
};

/// Replaces the numbers of a program that follow the sizes of its inputs by expressions of symbols, and adds the nodes
/// that compute those which other nodes take. `recordings` are of the same function with the symbols at
/// SizePolynomial::points, the first of them is the program.
///
/// Throws levin::UsageError, which names the first operator, if the recordings differ in other things than numbers, or
/// if a number follows no polynomial of the sizes.
ExportedProgram with_symbols(std::vector<ExportedProgram> recordings, const std::vector<Symbol>& symbols,
                             const std::vector<int64_t>& base);

}  // namespace levin::program
