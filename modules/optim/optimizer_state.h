#pragma once
#include <levin/trainer/core/state/state.h>

#include <string>

namespace torch::optim {
class Optimizer;
}
namespace torch::nn {
class Module;
}

namespace levin {

/// The state of one of levin's optimizers, or of LibTorch's SGD, Adam, AdamW, RMSprop, Adagrad and LBFGS, in the layout
/// of Python's `optimizer.state_dict()`: {"state": {0: {...}}, "param_groups": [{"lr": ..., "params": [0]}]}. Tensors
/// share the optimizer's memory. Throws levin::UsageError for other optimizers.
State optimizer_state_dict(torch::optim::Optimizer& optimizer);

/// Puts such a state, from here or from Python, into an optimizer of the same class over the same parameters. State of
/// floating point takes device and dtype of its parameter; tensors are copied. Options that LibTorch does not have are
/// ignored, except `maximize`, which is refused.
/// Throws levin::UsageError if groups, parameters or shapes do not fit; the optimizer is then unchanged.
void load_optimizer_state_dict(torch::optim::Optimizer& optimizer, const State& state);

/// The options of one parameter group, as they stand in that layout's param_groups: lr, weight_decay, momentum or
/// betas, and so on. Throws as optimizer_state_dict, and std::out_of_range for a group that there is not.
State parameter_group_options(torch::optim::Optimizer& optimizer, size_t group);

/// Where a parameter has another shape than the state that its optimizer keeps of it, as after `set_data` with another
/// number of rows: which parameter, by its name in `module`, which state, and what to do. Empty where all fit, and for
/// optimizers that are not known.
std::string misfit_of_state(torch::optim::Optimizer& optimizer, const torch::nn::Module& module);

/// Whether parts of a parameter may be stepped apart by this optimizer, one of levin's or of LibTorch's: see
/// optim::Optimizer::is_elementwise. False for optimizers that are not known.
bool is_elementwise(const torch::optim::Optimizer& optimizer);

}  // namespace levin
