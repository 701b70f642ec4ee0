#pragma once
#include <levin/trainer/core/state.h>

#include <string>

namespace levin {

/// A JSON text as a state tree: objects become dicts, arrays lists. Throws levin::Error where it is no JSON.
State state_of_json(const std::string& json);

/// The inverse; tuples become arrays, and a tensor with one element its value. Throws levin::Error, naming the place,
/// for bytes and other tensors, which JSON cannot hold.
std::string json_of_state(const State& state);

}  // namespace levin
