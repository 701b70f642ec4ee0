#pragma once
#include <levin/core/state/state.h>

#include <ATen/core/Tensor.h>

#include <set>
#include <string>
#include <vector>

namespace levin {

/// A state tree in torch.save's layout: a pickle, and the storages that its tensors refer to by number.
struct PickledState {
  std::string pickle = {};
  std::vector<at::Tensor> storages = {};  ///< flat, on their original device
};

struct PickleOptions {
  /// A dict: makes the state, a dict, an OrderedDict with these attributes, which are not among its items.
  State attributes = {};
  /// Keys of the state, a dict, whose tensors are torch.nn.Parameter in Python; floating ones require gradients.
  std::set<std::string> parameters = {};
};

/// Pickles `state` for Python's `torch.load(weights_only=True)`. Throws levin::Error, naming the place in the tree, for
/// a tensor that a file cannot hold (undefined, meta, quantized, nested) and for values nested more than 500 deep.
PickledState state_to_pickle(const State& state, const PickleOptions& options = {});

}  // namespace levin
