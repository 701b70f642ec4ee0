#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>
#include <levin/modules/adapters/held_weight.h>
#include <torch/nn/module.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace levin::adapters {

/// How a low-rank adapter is made for one weight.
struct LowRankShape {
  int64_t in = 1, out = 1;  ///< features of the layer
  int64_t rank = 8;
  double scale = 1;            ///< of the product of the factors
  double dropout = 0;          ///< share of the inputs that the adapter sees as zero in training
  bool is_transposed = false;  ///< the layer's weight is stored as [in, out]
  bool dora = false;           ///< the norms of the weight's rows are trained apart from their directions
};

/// Returns alpha / rank; with `rslora`, alpha / sqrt(rank).
double scale_of(double alpha, int64_t rank, bool rslora);

/// A part of an adapter beside factor A: a parameter `weight` with a name of its own.
struct AdapterPart : torch::nn::Module {
  at::Tensor weight = {};
};

/// What training adds to a frozen linear layer with the weight W [out, in]: x W^T + scale (dropout(x) A^T) B^T. This
/// module holds the factor A, and B is in `output`: the two are registered side by side in the layer, as `lora_A` and
/// `lora_B`.
///
/// With `magnitude`, m [out] (DoRA), the layer's weight is W + scale B A with rows of the norms m. Gradients take the
/// rows' own norms as constants.
///
/// Source: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1; Liu et al. 2024, "DoRA:
/// Weight-Decomposed Low-Rank Adaptation", sections 4.1 and 4.3.
class LowRankAdapter : public torch::nn::Module {
 public:
  /// Computes what the layer does without the adapter. The bias may be absent.
  using Layer = c10::function_ref<at::Tensor(const at::Tensor& input, const std::optional<at::Tensor>& bias)>;

  /// Makes the factors, in float32 on `device`: A as torch::nn::Linear draws its weight, B of zeros, and with
  /// `shape.dora` magnitudes of ones.
  LowRankAdapter(const LowRankShape& shape, at::Device device);

  /// Returns what the adapted layer computes of `input` [..., in]: [..., out], in the dtype of what `layer` returns.
  /// `stored` is its frozen weight, as it is stored. The adapter's part is computed in the dtype of the factors, or in
  /// that of autocast.
  at::Tensor compute(const at::Tensor& input, const std::optional<at::Tensor>& bias, const at::Tensor& stored,
                     Layer layer);
  /// Returns whether `compute` has been called.
  bool was_used() const { return was_used_.load(std::memory_order_relaxed); }

  /// Returns `stored`, the layer's frozen weight, with what the adapter computes: a copy, as the weight is stored and
  /// in the dtype that it has when it is not held in another form.
  at::Tensor merged(const at::Tensor& stored) const;
  /// Returns the norms of the rows of W + scale B A, in float32: [out].
  at::Tensor row_norms(const at::Tensor& stored) const;

  at::Tensor weight = {};                                                       ///< A: [rank, in]
  const std::shared_ptr<AdapterPart> output = std::make_shared<AdapterPart>();  ///< B: [out, rank]
  const std::shared_ptr<AdapterPart> magnitude = {};                            ///< m: [out]; null without DoRA
  const LowRankShape shape;
  std::optional<HeldForm> held = {};  ///< the form of the layer's weight, if it is not held as floats

 private:
  at::Tensor add_to(const at::Tensor& layer_output, const at::Tensor& input, bool drops);
  at::Tensor with_magnitude(const at::Tensor& input, const std::optional<at::Tensor>& bias, const at::Tensor& stored,
                            Layer layer);

  std::atomic<bool> was_used_ = false;
};

/// Returns scale B A of the factors `a` [rank, in] and `b` [out, rank]: [out, in], or [in, out] if it is transposed.
at::Tensor product_of(const at::Tensor& a, const at::Tensor& b, double scale, bool is_transposed);

/// Returns a copy of a layer's weight in floats plus `change`, as it is stored; with `magnitude` [out], with rows (of
/// [out, in]) of these norms. In the weight's dtype; the arithmetic is float32 if that has fewer bits.
at::Tensor merged_weight(const at::Tensor& weight, const at::Tensor& change, const at::Tensor& magnitude,
                         bool is_transposed);

}  // namespace levin::adapters
