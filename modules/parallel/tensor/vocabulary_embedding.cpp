#include <levin/modules/parallel/tensor/vocabulary_embedding.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>
#include <levin/modules/parallel/tensor/vocabulary_range.h>

namespace levin::parallel {

VocabularyEmbeddingImpl::VocabularyEmbeddingImpl(const VocabularyEmbeddingOptions& options_, const TensorGroup& group)
    : torch::nn::Module("VocabularyEmbedding"), options(options_) {
  if (options.padding_idx < -1 || options.padding_idx >= options.num_embeddings)
    throw UsageError("VocabularyEmbedding: padding_idx is ", options.padding_idx, ", of ", options.num_embeddings,
                     " rows; it is a row, or -1");
  weight = register_parameter("weight",
                              options.initialized
                                  ? torch::nn::Embedding(options.num_embeddings, options.embedding_dim)->weight.detach()
                                  : at::empty({options.num_embeddings, options.embedding_dim}));
  if (group) divide(group);
}

at::Tensor VocabularyEmbeddingImpl::forward(const at::Tensor& tokens) {
  if (!is_divided()) return at::embedding(weight, tokens, options.padding_idx);
  const Partition rows = divided_parameters().front().partition;
  check_in_vocabulary(tokens, options.num_embeddings, "VocabularyEmbedding: the token");
  const OwnTokens own = own_tokens(tokens, rows);
  const int64_t padding = options.padding_idx - rows.begin();
  const bool has_padding = options.padding_idx >= 0 && padding >= 0 && padding < weight.size(0);
  const at::Tensor found = at::embedding(weight, own.places, has_padding ? padding : -1);
  return reduce_from_tensor_group(found.masked_fill(own.others.unsqueeze(-1), 0), tensor_group());
}

at::Tensor VocabularyEmbeddingImpl::logits(const at::Tensor& x) {
  return at::linear(copy_to_tensor_group(x, tensor_group()), weight);
}

at::Tensor VocabularyEmbeddingImpl::whole_logits(const at::Tensor& part) {
  return gather_from_tensor_group(part, {.dim = -1, .size = options.num_embeddings}, tensor_group());
}

void VocabularyEmbeddingImpl::check_division(int64_t ranks) const {
  if (options.num_embeddings >= ranks) return;
  throw UsageError("VocabularyEmbedding: ", options.num_embeddings, " rows for ", ranks,
                   " ranks, which need at least one each; use fewer tensor-parallel ranks");
}

std::vector<DividedParameter> VocabularyEmbeddingImpl::divisible_parameters() const {
  return {{.name = "weight", .parameter = weight, .partition = {.dim = 0, .size = options.num_embeddings}}};
}

}  // namespace levin::parallel
