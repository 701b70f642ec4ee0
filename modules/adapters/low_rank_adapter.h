#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace levin::adapters {

/// How a low-rank adapter is made for one weight.
struct LowRankShape {
  int64_t in = 1, out = 1;  ///< features of the layer
  int64_t rank = 8;
  double scale = 1;            ///< of the product of the factors
  double dropout = 0;          ///< share of the inputs that the adapter sees as zero in training
  bool is_transposed = false;  ///< the layer's weight is stored as [in, out]
};

/// Returns alpha / rank; with `rslora`, alpha / sqrt(rank).
double scale_of(double alpha, int64_t rank, bool rslora);

/// The factor B of an adapter.
struct LowRankOutput : torch::nn::Module {
  at::Tensor weight = {};  ///< [out, rank], zeros at first
};

/// What training adds to a frozen linear layer with the weight W [out, in]: x W^T + scale (dropout(x) A^T) B^T. This
/// module holds the factor A, and B is in `output`: the two are registered side by side in the layer, as `lora_A` and
/// `lora_B`.
///
/// Source: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1.
class LowRankAdapter : public torch::nn::Module {
 public:
  /// Makes the factors, in float32 on `device`: A as torch::nn::Linear draws its weight, B of zeros.
  LowRankAdapter(const LowRankShape& shape, at::Device device);

  /// Returns `output` [..., out], which the layer computed from `input` [..., in], with the adapter's part, in the
  /// dtype of `output`. The part is computed in the dtype of the factors, or in that of autocast.
  at::Tensor add_to(const at::Tensor& output, const at::Tensor& input);
  /// Returns scale B A, as the layer's weight is stored, in the dtype of the factors.
  at::Tensor change() const;
  /// Returns whether `add_to` has been called.
  bool was_used() const { return was_used_.load(std::memory_order_relaxed); }

  at::Tensor weight = {};  ///< A: [rank, in]
  const std::shared_ptr<LowRankOutput> output = std::make_shared<LowRankOutput>();
  const LowRankShape shape;

 private:
  std::atomic<bool> was_used_ = false;
};

/// Returns scale B A of the factors `a` [rank, in] and `b` [out, rank]: [out, in], or [in, out] if it is transposed.
at::Tensor product_of(const at::Tensor& a, const at::Tensor& b, double scale, bool is_transposed);

/// Returns a copy of a layer's weight with what the adapter computes, in the weight's dtype.
at::Tensor merged_weight(const at::Tensor& weight, const LowRankAdapter& adapter);

}  // namespace levin::adapters
