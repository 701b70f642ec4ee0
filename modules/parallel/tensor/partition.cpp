#include <levin/modules/parallel/tensor/partition.h>
#include <ATen/ops/cat.h>

#include <algorithm>

namespace levin::parallel {

int64_t Partition::begin() const { return rank * (size / ranks) + std::min(rank, size % ranks); }

int64_t Partition::size_of_part() const { return size / ranks + (rank < size % ranks ? 1 : 0); }

at::Tensor Partition::part_of(const at::Tensor& whole) const {
  if (blocks == 1) return whole.narrow(dim, begin(), size_of_part());
  const int64_t block = size / blocks, each = block / ranks;
  std::vector<at::Tensor> of_blocks;
  for (int64_t b = 0; b < blocks; ++b) of_blocks.push_back(whole.narrow(dim, b * block + rank * each, each));
  return at::cat(of_blocks, dim);
}

at::Tensor Partition::join(const std::vector<at::Tensor>& parts) const {
  if (blocks == 1) return at::cat(parts, dim);
  const int64_t each = size / blocks / ranks;
  std::vector<at::Tensor> pieces;
  for (int64_t b = 0; b < blocks; ++b)
    for (const at::Tensor& part : parts) pieces.push_back(part.narrow(dim, b * each, each));
  return at::cat(pieces, dim);
}

std::vector<int64_t> Partition::whole_sizes(const at::Tensor& part) const {
  std::vector<int64_t> sizes = part.sizes().vec();
  sizes.at(static_cast<size_t>(dim)) = size;
  return sizes;
}

}  // namespace levin::parallel
