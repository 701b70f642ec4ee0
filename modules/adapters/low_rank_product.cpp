#include <levin/modules/adapters/low_rank_product.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <levin/modules/recording/is_recording.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

namespace levin::adapters {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Returns product + scale (inner factor): in place, unless the operators have a graph.
at::Tensor sum_of_products(const at::Tensor& product, const at::Tensor& inner, const at::Tensor& factor, double scale) {
  if (at::GradMode::is_enabled()) return at::addmm(product, inner, factor, 1, scale);
  return at::Tensor(product).addmm_(inner, factor, 1, scale);
}

/// Its backward is made of operators that have derivatives themselves. `weight` is [in, out].
struct LowRankProduct : torch::autograd::Function<LowRankProduct> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& a, const at::Tensor& b, const std::optional<at::Tensor>& bias,
                            double scale) {
    const at::Tensor inner = at::mm(x, a.t());
    context->save_for_backward({x, weight, a, b, inner});
    context->saved_data["scale"] = scale;
    return sum_of_products(bias ? at::addmm(*bias, x, weight) : at::mm(x, weight), inner, b.t(), scale);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &a = saved[2], &b = saved[3], &gradient = gradients[0];
    const double scale = context->saved_data["scale"].toDouble();
    const at::Tensor of_inner = at::mm(gradient, b) * scale;
    at::Tensor of_x, of_a, of_b;
    if (context->needs_input_grad(0)) of_x = sum_of_products(at::mm(gradient, weight.t()), of_inner, a, 1);
    if (context->needs_input_grad(2)) of_a = at::mm(of_inner.t(), x);
    if (context->needs_input_grad(3)) {
      const at::Tensor inner = at::GradMode::is_enabled() ? at::mm(x, a.t()) : saved[4];
      of_b = (at::mm(inner.t(), gradient) * scale).t();  // a wide product is faster than its narrow transpose
    }
    return {of_x, at::Tensor(), of_a, of_b, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool can_take_product(const at::Tensor& input, const LowRankTensors& tensors) {
  const at::ScalarType dtype = input.scalar_type();
  const bool is_one_dtype = tensors.weight.scalar_type() == dtype && tensors.a.scalar_type() == dtype &&
                            tensors.b.scalar_type() == dtype && (!tensors.bias || tensors.bias->scalar_type() == dtype);
  const bool is_frozen = !tensors.weight.requires_grad() && (!tensors.bias || !tensors.bias->requires_grad());
  return is_one_dtype && is_frozen && input.dim() > 0 && !recording::is_recording() &&
         !at::autocast::is_autocast_enabled(input.device().type());
}

at::Tensor low_rank_product(const at::Tensor& input, const LowRankTensors& tensors) {
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = tensors.b.size(0);
  // The view of the weight has no adapter: the products below are those of plain tensors.
  return LowRankProduct::apply(input.reshape({-1, tensors.a.size(1)}), tensors.weight.t(), tensors.a, tensors.b,
                               tensors.bias, tensors.scale)
      .view(sizes);
}

}  // namespace levin::adapters
