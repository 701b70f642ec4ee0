#pragma once
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <levin/modules/parallel/tensor/tensor_parallel.h>

#include <cstdint>

namespace levin::parallel {

struct VocabularyCrossEntropyOptions {
  int64_t ignore_index = -100;  ///< a target that counts for nothing
  at::Reduction::Reduction reduction = at::Reduction::Mean;
};

/// The cross entropy of logits whose vocabulary is divided among the ranks of a tensor group, without gathering them:
/// the ranks send two numbers for each target. Returns what cross_entropy of the whole logits returns, the same bits on
/// all ranks: one element, or with Reduction::None the shape of `target`.
///
/// `logits`: this rank's part [..., rows] of the logits of a vocabulary of `vocabulary_size`, such as
/// VocabularyEmbedding::logits; those of 16 bit are computed in float32. `target`: [...], int64, the same on all ranks.
/// Without a group `logits` are whole. Throws levin::UsageError for shapes that do not fit, and on the CPU for targets
/// outside the vocabulary. Collective: all ranks of the group call it; backward sends nothing. It has no second
/// derivative.
at::Tensor vocabulary_cross_entropy(const at::Tensor& logits, const at::Tensor& target, int64_t vocabulary_size,
                                    const TensorGroup& group, VocabularyCrossEntropyOptions options = {});

}  // namespace levin::parallel
