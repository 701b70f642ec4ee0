#include <levin/modules/nn/gpt.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/error.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/parallel/sharding/shard_unit.h>
#include <levin/modules/parallel/tensor/dropout_of_part.h>
#include <levin/modules/parallel/tensor/row_linear.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>
#include <levin/modules/parallel/tensor/vocabulary_cross_entropy.h>
#include <levin/modules/recording/is_recording.h>
#include <torch/nn/modules/container/modulelist.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>

namespace levin::nn {
namespace {

using parallel::ColumnLinear;
using parallel::ColumnLinearOptions;
using parallel::RowLinear;
using parallel::RowLinearOptions;
using parallel::TensorGroup;
using torch::nn::LayerNorm;
using torch::nn::LayerNormOptions;

constexpr double kStddev = 0.02;

void check_heads(int64_t heads, int64_t ranks) {
  if (heads % ranks == 0) return;
  throw UsageError("GPT: ", ranks, " tensor-parallel ranks do not divide ", heads,
                   " attention heads; set model.heads to a multiple of trainer.mesh.tensor");
}

struct CausalSelfAttention : torch::nn::Module, parallel::TensorParallel {
  CausalSelfAttention(const GPTOptions& options, const TensorGroup& group)
      : heads(options.heads),
        dropout(options.dropout),
        qkv(register_module("qkv", ColumnLinear(ColumnLinearOptions{.in_features = options.embedding,
                                                                    .out_features = 3 * options.embedding,
                                                                    .blocks = 3},
                                                group))),
        projection(register_module(
            "projection",
            RowLinear(RowLinearOptions{.in_features = options.embedding, .out_features = options.embedding}, group))) {
    if (group) divide(group);
  }

  void check_division(int64_t ranks) const override { check_heads(heads, ranks); }

  at::Tensor forward(const at::Tensor& x) {
    const int64_t batch = x.size(0), time = x.size(1), width = x.size(2);
    const int64_t own = is_divided() ? heads / tensor_group()->world_size() : heads;
    // from [batch, time, 3 own width / heads] to queries, keys and values [batch, own, time, width / heads]
    const std::vector<at::Tensor> parts =
        qkv->forward(x).view({batch, time, 3, own, width / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    const at::Tensor attended = attend(parts[0], parts[1], parts[2]);
    const at::Tensor joined = attended.transpose(1, 2).reshape({batch, time, own * (width / heads)});
    return at::dropout(projection->forward(joined), dropout, is_training());
  }

  at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) const {
    const double rate = is_training() ? dropout : 0.0;
    if (rate > 0 && is_divided()) return attend_with_dropout(query, key, value, rate);
    return at::scaled_dot_product_attention(query, key, value, /*attn_mask=*/{}, rate, /*is_causal=*/true);
  }

  /// Draws for all heads.
  at::Tensor attend_with_dropout(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                 double rate) const {
    const int64_t time = query.size(2);
    const double scale = std::pow(static_cast<double>(query.size(3)), -0.25);  // of both factors
    const at::Tensor later = at::ones({time, time}, query.options().dtype(at::kBool)).triu(1);
    const at::Tensor scores = at::matmul(query * scale, (key * scale).transpose(2, 3))
                                  .masked_fill(later, -std::numeric_limits<double>::infinity());
    const at::Tensor weights = parallel::dropout_of_part(at::softmax(scores, -1), 1, rate, tensor_group());
    return at::matmul(weights, value);
  }

  int64_t heads;
  double dropout;
  ColumnLinear qkv;
  RowLinear projection;
};

struct FeedForward : torch::nn::Module {
  FeedForward(const GPTOptions& options, const TensorGroup& group)
      : dropout(options.dropout),
        expansion(register_module("expansion", ColumnLinear(ColumnLinearOptions{.in_features = options.embedding,
                                                                                .out_features = 4 * options.embedding},
                                                            group))),
        projection(register_module("projection", RowLinear(RowLinearOptions{.in_features = 4 * options.embedding,
                                                                            .out_features = options.embedding},
                                                           group))) {}

  at::Tensor forward(const at::Tensor& x) {
    return at::dropout(projection->forward(at::gelu(expansion->forward(x), "tanh")), dropout, is_training());
  }

  double dropout;
  ColumnLinear expansion;
  RowLinear projection;
};

LayerNorm layer_norm(const GPTOptions& options) { return LayerNorm(LayerNormOptions({options.embedding})); }

}  // namespace

struct GPTImpl::Block : torch::nn::Module, Checkpointable, ShardUnit {
  Block(const GPTOptions& options, const TensorGroup& group)
      : attention_norm(register_module("attention_norm", layer_norm(options))),
        attention(register_module("attention", std::make_shared<CausalSelfAttention>(options, group))),
        mlp_norm(register_module("mlp_norm", layer_norm(options))),
        mlp(register_module("mlp", std::make_shared<FeedForward>(options, group))) {}

  at::Tensor forward(const at::Tensor& x) {
    return checkpointed([this](const at::Tensor& input) { return compute(input); }, x);
  }

  at::Tensor compute(const at::Tensor& x) {
    const at::Tensor attended = x + attention->forward(attention_norm->forward(x));
    return attended + mlp->forward(mlp_norm->forward(attended));
  }

  LayerNorm attention_norm;
  std::shared_ptr<CausalSelfAttention> attention;
  LayerNorm mlp_norm;
  std::shared_ptr<FeedForward> mlp;
};

GPTImpl::GPTImpl(GPTOptions options_, const TensorGroup& group) : options(options_) {
  schema_of<GPTOptions>().check(&options, "model");
  if (options.embedding % options.heads != 0) {
    throw UsageError("model.heads: ", options.heads, " heads do not divide an embedding of ", options.embedding,
                     "; set model.embedding to a multiple of model.heads");
  }
  if (group) check_heads(options.heads, group->world_size());
  token_embedding = register_module(
      "token_embedding",
      parallel::VocabularyEmbedding(parallel::VocabularyEmbeddingOptions{.num_embeddings = options.vocab_size,
                                                                         .embedding_dim = options.embedding},
                                    group));
  position_embedding =
      register_module("position_embedding", torch::nn::Embedding(options.block_size, options.embedding));
  const auto blocks = register_module("blocks", torch::nn::ModuleList());
  for (int64_t i = 0; i < options.layers; ++i) {
    blocks_.push_back(std::make_shared<Block>(options, group));
    blocks->push_back(blocks_.back());
  }
  final_norm = register_module("final_norm", layer_norm(options));
  if (!options.tied_head) {
    head = register_module("head", ColumnLinear(ColumnLinearOptions{.in_features = options.embedding,
                                                                    .out_features = options.vocab_size,
                                                                    .bias = false},
                                                group));
  }
  initialize(group);
}

void GPTImpl::initialize(const TensorGroup& group) {
  const at::NoGradGuard no_grad;
  const std::map<std::string, parallel::Partition> partitions = parallel::partitions_of(*this);
  const auto draw = [&](const std::string& name, at::Tensor& parameter, double stddev) {
    if (!group) {
      parameter.normal_(0, stddev);
      return;
    }
    const auto divided = partitions.find(name);
    const bool is_divided = divided != partitions.end();
    at::Tensor whole = at::empty(is_divided ? divided->second.whole_sizes(parameter) : parameter.sizes().vec(),
                                 parameter.detach().options())
                           .normal_(0, stddev);
    group->broadcast(whole, /*source=*/0);
    parameter.copy_(is_divided ? divided->second.part_of(whole) : whole);
  };
  const double of_projections = kStddev / std::sqrt(2.0 * static_cast<double>(options.layers));
  for (auto& item : named_parameters()) {
    const std::string& name = item.key();
    at::Tensor& parameter = item.value();
    if (name.ends_with("bias"))
      parameter.zero_();
    else if (name.ends_with("norm.weight"))
      parameter.fill_(1);
    else
      draw(name, parameter, name.ends_with("projection.weight") ? of_projections : kStddev);
  }
}

void GPTImpl::check(const at::Tensor& tokens) const {
  if (tokens.dim() != 2 || (tokens.scalar_type() != at::kLong && tokens.scalar_type() != at::kInt)) {
    throw UsageError("GPT: expected token ids [batch, time] of int64, got ", tokens.sizes(), " of ",
                     tokens.scalar_type());
  }
  if (tokens.size(1) > options.block_size) {
    throw UsageError("GPT: a sequence of ", tokens.size(1), " tokens, but block_size is ", options.block_size,
                     "; set model.block_size to the data's longest sequence, or shorten those");
  }
  if (!tokens.is_cpu() || tokens.numel() == 0 || recording::is_recording()) return;
  const auto [lowest, highest] = at::aminmax(tokens);
  const int64_t low = lowest.item<int64_t>(), high = highest.item<int64_t>();
  if (low < 0 || high >= options.vocab_size) {
    throw UsageError("GPT: token id ", low < 0 ? low : high, " is not in the vocabulary, 0 to ", options.vocab_size - 1,
                     "; set model.vocab_size to the number of different tokens of the data");
  }
}

at::Tensor GPTImpl::own_logits(const at::Tensor& tokens) {
  check(tokens);
  const at::Tensor positions = position_embedding->weight.narrow(0, 0, tokens.size(1));
  at::Tensor x = at::dropout(token_embedding->forward(tokens) + positions, options.dropout, is_training());
  for (const auto& block : blocks_) x = block->forward(x);
  const at::Tensor normed = final_norm->forward(x);
  return options.tied_head ? token_embedding->logits(normed) : head->forward(normed);
}

at::Tensor GPTImpl::forward(const at::Tensor& tokens) { return token_embedding->whole_logits(own_logits(tokens)); }

at::Tensor GPTImpl::loss(const at::Tensor& tokens, const at::Tensor& target) {
  const at::Tensor logits = own_logits(tokens);
  if (!token_embedding->is_divided()) return at::cross_entropy_loss(logits.flatten(0, 1), target.flatten());
  return parallel::vocabulary_cross_entropy(logits, target, options.vocab_size, token_embedding->tensor_group());
}

}  // namespace levin::nn
