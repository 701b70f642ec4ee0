#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/loading/indices.h>

namespace levin::data {

/// Sets `to` [indices, ...] to the rows of `from` [rows, ...] with these indices; same dtype and row shape.
///
/// Rows of contiguous tensors on the CPU are copied as they lie; others by LibTorch. Throws levin::Error for an index
/// outside [0, rows).
void copy_rows(const at::Tensor& from, const Indices& indices, at::Tensor& to);

}  // namespace levin::data
