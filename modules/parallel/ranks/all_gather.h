#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/ranks/comm.h>

namespace levin::parallel {

/// Returns the tensors of all ranks, stacked: [ranks, ...]; shapes and dtypes must agree. Backward gives each rank the
/// sum over all ranks of the gradients of its row. Forward and backward are collective: all ranks call them. `ranks`
/// must outlive both.
/// Source: torch.distributed.nn.functional.all_gather.
at::Tensor all_gather_with_gradients(const at::Tensor& tensor, Comm& ranks);

}  // namespace levin::parallel
