#pragma once
#include <levin/core/state/state.h>

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace levin {

/// A state tree in torch.save's layout: a pickle, and the storages that its tensors refer to by number.
struct PickledState {
  std::string pickle = {};
  std::vector<at::Tensor> storages = {};  ///< flat, on their original device
};

/// Pickles `state` for Python's `torch.load(weights_only=True)`. Throws levin::Error, naming the place in the tree, for
/// a tensor that a file cannot hold (undefined, meta, quantized, nested) and for values nested more than 500 deep.
/// `attributes`, a dict, if it is not none, makes `state`, a dict, an OrderedDict with these attributes, which are not
/// among its items.
PickledState state_to_pickle(const State& state, const State& attributes = {});

}  // namespace levin
