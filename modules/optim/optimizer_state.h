#pragma once
#include <levin/core/state/state.h>

#include <string>

namespace torch::optim {
class Optimizer;
}
namespace torch::nn {
class Module;
}

namespace levin::optim {

/// Returns the state of one of levin's optimizers, or of LibTorch's SGD, Adam, AdamW, RMSprop, Adagrad and LBFGS, in
/// the layout of Python's `optimizer.state_dict()`: {"state": {0: {...}}, "param_groups": [{"lr": ..., "params":
/// [0]}]}. Tensors share the optimizer's memory. The state of another class is what its own `save` writes, as the bytes
/// of an archive: {"archive": ...}. Throws levin::UsageError for a class whose `save` writes nothing.
State optimizer_state_dict(torch::optim::Optimizer& optimizer);

/// Loads the state of a levin or Python optimizer into an optimizer of the same class over the same parameters. Tensors
/// are copied; floating-point state is converted to the device and dtype of its parameter. Options that LibTorch lacks
/// are ignored, except `maximize`, which is an error. Throws levin::UsageError if groups, parameters or shapes do not
/// match; the optimizer is then unchanged.
void load_optimizer_state_dict(torch::optim::Optimizer& optimizer, const State& state);

/// Returns the options of one parameter group, in the layout of "param_groups": lr, weight_decay, momentum or betas,
/// and so on. Throws as optimizer_state_dict, and std::out_of_range if there is no such group.
State parameter_group_options(torch::optim::Optimizer& optimizer, size_t group);

/// Returns a message if the shape of a parameter differs from the shape of its optimizer state, as after `set_data`
/// with another number of rows: the parameter's name in `module`, the state, and a remedy. Empty if all match, and for
/// unsupported optimizers.
std::string state_shape_mismatch(torch::optim::Optimizer& optimizer, const torch::nn::Module& module);

/// Returns whether this optimizer, one of levin's or of LibTorch's, can step parts of a parameter separately: see
/// optim::Optimizer::is_elementwise. False for optimizers that are not known.
bool is_elementwise(const torch::optim::Optimizer& optimizer);

}  // namespace levin::optim

namespace levin {

// The spelling before names of optimizers moved to levin::optim.
using optim::is_elementwise;
using optim::load_optimizer_state_dict;
using optim::optimizer_state_dict;
using optim::parameter_group_options;
using optim::state_shape_mismatch;

}  // namespace levin
