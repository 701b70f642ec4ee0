#pragma once
#include <ATen/core/Tensor.h>
#include <levin/trainer/core/ranks/comm.h>

namespace levin::parallel {

/// The tensors of all ranks, stacked: [ranks, ...]; shapes and dtypes must agree. Backward gives each rank the sum of
/// the gradients that all ranks have for its row. Called by all ranks, forward and backward; `ranks` must outlive both.
/// Source: torch.distributed.nn.functional.all_gather.
at::Tensor all_gather_with_gradients(const at::Tensor& tensor, Comm& ranks);

}  // namespace levin::parallel
