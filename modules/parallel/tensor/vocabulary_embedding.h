#pragma once
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

namespace levin::parallel {

struct VocabularyEmbeddingOptions {
  int64_t num_embeddings = 1;  ///< size of the vocabulary; the ranks need not divide it
  int64_t embedding_dim = 1;
  int64_t padding_idx = -1;  ///< a token whose row gets no gradient when it is looked up; -1: none
  /// False: the values stay undefined until they are loaded, which spares the time to draw them.
  bool initialized = true;
};

/// torch::nn::Embedding whose rows are divided among the ranks of a tensor group ("vocabulary-parallel"): each rank
/// looks up the tokens that it has, and the ranks add up. Without a group it is a whole embedding.
///
/// `weight` is [rows, embedding_dim]; the first ranks have one row more if the ranks do not divide the vocabulary. The
/// initial values are the parts of those that torch::nn::Embedding draws. The weight may also be the last layer of a
/// network (tied): `logits`.
class VocabularyEmbeddingImpl : public torch::nn::Module, public TensorParallel {
 public:
  using Options = VocabularyEmbeddingOptions;

  /// With a group, the whole table is only there until this rank has its part; then all ranks of the group call the
  /// constructor. Throws levin::UsageError as check_division.
  explicit VocabularyEmbeddingImpl(const VocabularyEmbeddingOptions& options, const TensorGroup& group = nullptr);

  /// Maps `tokens` of any shape [...], int64 or int32 and the same on all ranks, to [..., embedding_dim], the same bits
  /// on all ranks. Throws levin::UsageError for a token outside the vocabulary, on the CPU; on a GPU LibTorch reports
  /// it later. Collective: all ranks of the group call it.
  at::Tensor forward(const at::Tensor& tokens);
  /// Maps `x` [..., embedding_dim], the same on all ranks, to this rank's part [..., rows] of the logits of the
  /// vocabulary, with `weight` as the matrix of a linear layer. vocabulary_cross_entropy takes them.
  at::Tensor logits(const at::Tensor& x);
  /// Returns the logits of the whole vocabulary, of which `part` is this rank's. Collective: all ranks call it.
  at::Tensor whole_logits(const at::Tensor& part);
  /// Throws levin::UsageError if there are more ranks than rows.
  void check_division(int64_t ranks) const override;

  VocabularyEmbeddingOptions options;
  at::Tensor weight = {};

 protected:
  std::vector<DividedParameter> divisible_parameters() const override;
};
TORCH_MODULE(VocabularyEmbedding);

}  // namespace levin::parallel
