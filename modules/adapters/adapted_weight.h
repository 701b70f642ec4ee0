#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/adapters/low_rank_adapter.h>

#include <memory>

namespace levin::adapters {

/// Makes each linear operation with `weight`, stored as the adapter's shape says, add the adapter's part to its
/// result, whoever calls it: a layer of C++, a script or a program. The tensor stays the same object, of the same
/// values, for all who hold it, and keeps the adapter when it moves to another device or dtype; copies and other views
/// than its transpose do not have it. A tensor that is given other memory by `set_data` loses it.
void attach(const at::Tensor& weight, std::shared_ptr<LowRankAdapter> adapter);
/// Ends it.
void detach(const at::Tensor& weight);
/// Returns the adapter of a weight; null if it has none.
std::shared_ptr<LowRankAdapter> adapter_of(const at::Tensor& weight);

}  // namespace levin::adapters
