#pragma once
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/plan.h>
#include <levin/modules/program/runner.h>

#include <map>
#include <string>

namespace levin::program {

/// Finds the parts of a model whose activations backward may compute again: the repeated parts of the outermost list of
/// parts (`layers.0`, `layers.1`), or else the model's direct children. A part counts if its nodes follow one another
/// and if running them twice changes nothing: no buffer and no value from outside is written to.
std::map<std::string, Stretch> find_blocks(const ExportedProgram& program, const Plan& plan);

}  // namespace levin::program
