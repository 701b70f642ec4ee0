#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/parallel/tensor/partition.h>

#include <cstdint>

namespace levin::parallel {

/// The tokens of a vocabulary whose rows are divided among ranks, as one rank sees them.
struct OwnTokens {
  at::Tensor places = {};  ///< the token's row on this rank, int64; 0 for a row that another rank has
  at::Tensor others = {};  ///< bool: another rank has the row
};
OwnTokens own_tokens(const at::Tensor& tokens, const Partition& rows);

/// Throws levin::UsageError for a token outside a vocabulary of `size`, other than `ignored`, on the CPU. On a GPU the
/// check runs there, without a host sync, and LibTorch reports it at a later call. `what`: for the error, "the token".
void check_in_vocabulary(const at::Tensor& tokens, int64_t size, const char* what, int64_t ignored = 0);

}  // namespace levin::parallel
