#pragma once
#include <levin/modules/program/exported_program.h>

#include <functional>
#include <string>

namespace levin::program {

/// Returns the text of a program with the flags of its nodes as a model in this mode has them: Python's exported
/// programs have no modes. `is_training` tells the mode of the part with a path.
std::string with_modes(const std::string& json, const ExportedProgram& program,
                       const std::function<bool(const std::string& path)>& is_training);

}  // namespace levin::program
