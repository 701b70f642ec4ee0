#include <levin/modules/nn/gpt.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/parallel/sharding/shard_unit.h>
#include <levin/trainer/core/system/error.h>
#include <torch/nn/modules/container/modulelist.h>

#include <cmath>
#include <string>
#include <tuple>

namespace levin::nn {
namespace {

using torch::nn::LayerNorm;
using torch::nn::LayerNormOptions;
using torch::nn::Linear;
using torch::nn::LinearOptions;

constexpr double kStddev = 0.02;

struct CausalSelfAttention : torch::nn::Module {
  explicit CausalSelfAttention(const GPTOptions& options)
      : heads(options.heads),
        dropout(options.dropout),
        qkv(register_module("qkv", Linear(options.embedding, 3 * options.embedding))),
        projection(register_module("projection", Linear(options.embedding, options.embedding))) {}

  at::Tensor forward(const at::Tensor& x) {
    const int64_t batch = x.size(0), time = x.size(1), width = x.size(2);
    // from [batch, time, 3 width] to queries, keys and values [batch, heads, time, width / heads]
    const std::vector<at::Tensor> parts =
        qkv->forward(x).view({batch, time, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    const at::Tensor attended = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], /*attn_mask=*/{},
                                                                 is_training() ? dropout : 0.0, /*is_causal=*/true);
    const at::Tensor joined = attended.transpose(1, 2).reshape({batch, time, width});
    return at::dropout(projection->forward(joined), dropout, is_training());
  }

  int64_t heads;
  double dropout;
  Linear qkv, projection;
};

struct FeedForward : torch::nn::Module {
  explicit FeedForward(const GPTOptions& options)
      : dropout(options.dropout),
        expansion(register_module("expansion", Linear(options.embedding, 4 * options.embedding))),
        projection(register_module("projection", Linear(4 * options.embedding, options.embedding))) {}

  at::Tensor forward(const at::Tensor& x) {
    return at::dropout(projection->forward(at::gelu(expansion->forward(x), "tanh")), dropout, is_training());
  }

  double dropout;
  Linear expansion, projection;
};

LayerNorm layer_norm(const GPTOptions& options) { return LayerNorm(LayerNormOptions({options.embedding})); }

}  // namespace

struct GPTImpl::Block : torch::nn::Module, Checkpointable, ShardUnit {
  explicit Block(const GPTOptions& options)
      : attention_norm(register_module("attention_norm", layer_norm(options))),
        attention(register_module("attention", std::make_shared<CausalSelfAttention>(options))),
        mlp_norm(register_module("mlp_norm", layer_norm(options))),
        mlp(register_module("mlp", std::make_shared<FeedForward>(options))) {}

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

GPTImpl::GPTImpl(GPTOptions options_) : options(options_) {
  schema_of<GPTOptions>().check(&options, "model");
  if (options.embedding % options.heads != 0) {
    throw UsageError("model.heads: ", options.heads, " heads do not divide an embedding of ", options.embedding,
                     "; set model.embedding to a multiple of model.heads");
  }
  token_embedding = register_module("token_embedding", torch::nn::Embedding(options.vocab_size, options.embedding));
  position_embedding =
      register_module("position_embedding", torch::nn::Embedding(options.block_size, options.embedding));
  const auto blocks = register_module("blocks", torch::nn::ModuleList());
  for (int64_t i = 0; i < options.layers; ++i) {
    blocks_.push_back(std::make_shared<Block>(options));
    blocks->push_back(blocks_.back());
  }
  final_norm = register_module("final_norm", layer_norm(options));
  if (!options.tied_head) {
    head = register_module("head", Linear(LinearOptions(options.embedding, options.vocab_size).bias(false)));
  }
  initialize();
}

void GPTImpl::initialize() {
  const at::NoGradGuard no_grad;
  const double of_projections = kStddev / std::sqrt(2.0 * static_cast<double>(options.layers));
  for (auto& item : named_parameters()) {
    const std::string& name = item.key();
    at::Tensor& parameter = item.value();
    if (name.ends_with("bias"))
      parameter.zero_();
    else if (name.ends_with("norm.weight"))
      parameter.fill_(1);
    else
      parameter.normal_(0, name.ends_with("projection.weight") ? of_projections : kStddev);
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
  if (!tokens.is_cpu() || tokens.numel() == 0) return;
  const auto [lowest, highest] = at::aminmax(tokens);
  const int64_t low = lowest.item<int64_t>(), high = highest.item<int64_t>();
  if (low < 0 || high >= options.vocab_size) {
    throw UsageError("GPT: token id ", low < 0 ? low : high, " is not in the vocabulary, 0 to ", options.vocab_size - 1,
                     "; set model.vocab_size to the number of different tokens of the data");
  }
}

at::Tensor GPTImpl::forward(const at::Tensor& tokens) {
  check(tokens);
  const at::Tensor positions = position_embedding->weight.narrow(0, 0, tokens.size(1));
  at::Tensor x = at::dropout(token_embedding->forward(tokens) + positions, options.dropout, is_training());
  for (const auto& block : blocks_) x = block->forward(x);
  return at::linear(final_norm->forward(x), options.tied_head ? token_embedding->weight : head->weight);
}

}  // namespace levin::nn
