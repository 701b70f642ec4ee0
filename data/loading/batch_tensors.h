#pragma once
#include <c10/util/FunctionRef.h>
#include <levin/data/batch.h>

#include <string>

namespace levin {

/// Calls `visit` with each tensor of a batch and its name, in order; tensors of lists are named `boxes[3].input`. The
/// tensors of a user's own struct are not visited.
void for_each_tensor(const Batch& batch, c10::function_ref<void(const std::string& name, const at::Tensor&)> visit);

}  // namespace levin
