#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/loading/indices.h>

namespace levin::data {

/// Copies the rows of `from` [rows, ...] with these indices to `to` [indices, ...]; same dtype and row shape.
///
/// Rows of contiguous CPU tensors are copied as bytes, others by LibTorch. Throws levin::Error for an index outside
/// [0, rows).
void copy_rows(const at::Tensor& from, const Indices& indices, at::Tensor& to);

}  // namespace levin::data
