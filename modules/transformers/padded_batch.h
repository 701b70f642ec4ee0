#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/batch.h>

namespace levin::nn {

/// The batch's tensor [batch, time] that is 0 for padding, and what stands in its place: the rows' numbers of tokens.
constexpr const char* kMask = "attention_mask";
constexpr const char* kLengths = "lengths";

/// Returns the batch with `lengths` [...] in place of an `attention_mask` whose padding is at the end alone, and other
/// batches as they are.
Batch without_end_mask(const Batch& batch);

/// Returns the place of the last token of each row that is no padding, [batch]; undefined if all rows are full.
at::Tensor last_places(const Batch& batch);

}  // namespace levin::nn
