#pragma once
#include <levin/core/state/state.h>

#include <string>

namespace levin {

/// Converts a JSON text to a state tree: objects become dicts, arrays lists. Throws levin::Error if the text is not
/// JSON.
State state_of_json(const std::string& json);

/// Converts a state tree to JSON: tuples become arrays, a tensor with one element becomes its value. Throws
/// levin::Error, naming the place, for bytes and other tensors, which JSON cannot hold.
std::string json_of_state(const State& state);

}  // namespace levin
