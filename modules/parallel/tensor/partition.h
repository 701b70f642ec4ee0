#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace levin::parallel {

/// How a tensor is divided among the ranks of a tensor group: along one dimension, into parts that follow each other.
/// The first ranks have one element more if the ranks do not divide the dimension. A tensor of several `blocks`, such
/// as the weights of queries, keys and values in one, is divided block by block.
struct Partition {
  int64_t dim = 0;
  int64_t size = 0;  ///< of the whole tensor along `dim`
  int64_t rank = 0, ranks = 1;
  int64_t blocks = 1;  ///< they have the same size, which the ranks divide if there are several

  /// Returns the first element of this rank's part, of a tensor of one block.
  int64_t begin() const;
  /// Returns the number of elements of this rank's part along `dim`.
  int64_t size_of_part() const;
  /// Returns the size of the largest part.
  int64_t largest_part() const { return (size + ranks - 1) / ranks; }
  /// Returns this rank's part of the whole tensor. It shares the memory if there is one block.
  at::Tensor part_of(const at::Tensor& whole) const;
  /// Returns the whole tensor, made of the parts of all ranks, in their order.
  at::Tensor join(const std::vector<at::Tensor>& parts) const;
  /// Returns the sizes of the whole tensor of which `part` is this rank's part.
  std::vector<int64_t> whole_sizes(const at::Tensor& part) const;
  bool is_whole(const at::Tensor& tensor, const at::Tensor& part) const { return tensor.sizes() == whole_sizes(part); }
};

}  // namespace levin::parallel
