#pragma once
#include <levin/core/state/state.h>
#include <levin/data/data_module.h>

#include <string>

namespace levin::data {

/// Returns {"class": ..., "learned": ...}: the class of a data module and its learned_state; none if it learns nothing.
State learned_section(DataModule& data_module);

/// Makes a data module read its data by what another one has learnt: by the section of the file `file`, or by none.
/// Warns if the training data that the module's options name say otherwise, and if the section is of another class,
/// which it leaves alone. Call it before `setup`.
void use_learned_section(DataModule& data_module, const State& section, const std::string& file);

}  // namespace levin::data
