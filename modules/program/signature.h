#pragma once
#include <levin/modules/imported_module.h>
#include <levin/modules/program/exported_program.h>

#include <string>
#include <vector>

namespace levin::program {

/// Returns the names of the inputs that are tensors: their paths if the structure is known, else their names in the
/// graph.
std::vector<std::string> input_names_of(const ExportedProgram& exported);
/// Returns the names of what forward returns: paths if the structure is known, else positions.
std::vector<std::string> output_names_of(const ExportedProgram& exported);
/// Returns what the program says of a value of its graph; -1 for a size that may differ.
ImportedTensor described(const ExportedProgram& exported, const std::string& value);

}  // namespace levin::program
