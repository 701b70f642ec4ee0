#pragma once
#include <string>
#include <vector>

namespace levin::program {

/// Returns the paths of the leaves of a pytree, in order: "x", "features.ids", "pair.0". `spec` is pytree's JSON;
/// `argument_names` names the parameters of forward in place of their positions. A structure that is not known gives
/// its leaves their positions.
std::vector<std::string> input_paths(const std::string& spec, const std::vector<std::string>& argument_names);
/// The same for what forward returns; a single value has the path "".
std::vector<std::string> output_paths(const std::string& spec);

}  // namespace levin::program
