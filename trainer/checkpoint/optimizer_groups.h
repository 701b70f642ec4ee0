#pragma once
#include <levin/core/state/state.h>

#include <string>
#include <vector>

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace levin {

/// The names of an optimizer's parameters in the module, by group; "" for a tensor that is no parameter of the module.
using GroupNames = std::vector<std::vector<std::string>>;
GroupNames names_of_groups(const torch::optim::Optimizer& optimizer, const torch::nn::Module& module);

/// Returns the names for a checkpoint: a list of lists; none if a name is missing, or if `saved`, the optimizer's
/// state, has other groups.
State state_of_names(const GroupNames& names, const State& saved);

/// Returns `saved`, an optimizer's state, with the groups and options that `optimizer` has now. The state of each
/// parameter (moments, step counts) is kept by its name; a parameter that is not in `saved` begins without one.
/// `present`: the names of the optimizer's parameters. `saved_names`: those of the saved ones, from state_of_names;
/// null or none if the checkpoint has none, and then the parameters must be as many and in the same order. Throws
/// levin::UsageError if they are not, and if an optimizer with one state for all parameters (LBFGS) has others.
State with_present_groups(torch::optim::Optimizer& optimizer, const GroupNames& present, const State& saved,
                          const State* saved_names);

/// Returns whether the saved parameters are those of `present`, in their order, as far as names were saved.
bool has_same_order(const GroupNames& present, const State* saved_names);

}  // namespace levin
