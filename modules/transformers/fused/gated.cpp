#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <levin/modules/transformers/fused/fused_operators.h>
#include <levin/modules/transformers/fused/graph_gradients.h>
#include <levin/modules/transformers/fused/row_passes.h>
#include <torch/csrc/autograd/custom_function.h>

namespace levin::nn::fused {
namespace {

using torch::autograd::AutogradContext;

Rows rows_of_all(const at::Tensor& x) { return {.rows = x.numel() / x.size(-1), .cols = x.size(-1)}; }

struct Gated : torch::autograd::Function<Gated> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& up, Gate gate) {
    at::Tensor y = at::empty_like(x);
    gated_rows(rows_of_all(x), gate, x.const_data_ptr<float>(), up.const_data_ptr<float>(),
               y.mutable_data_ptr<float>());
    context->save_for_backward({x, up});
    context->saved_data["is_silu"] = gate == Gate::Silu;
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const bool is_silu = context->saved_data["is_silu"].toBool();
    if (at::GradMode::is_enabled()) {
      const Activation activation = is_silu ? Activation::Silu : Activation::GeluTanh;
      variable_list found = graph_gradients(
          [activation](const variable_list& in) { return activated(in[0], activation) * in[1]; }, saved, gradients[0]);
      return {found[0], found[1], {}};
    }
    const at::Tensor gradient = gradients[0].contiguous(), &x = saved[0], &up = saved[1];
    at::Tensor of_x = at::empty_like(x), of_up = at::empty_like(up);
    gated_backward_rows(rows_of_all(x), is_silu ? Gate::Silu : Gate::GeluTanh, gradient.const_data_ptr<float>(),
                        x.const_data_ptr<float>(), up.const_data_ptr<float>(), of_x.mutable_data_ptr<float>(),
                        of_up.mutable_data_ptr<float>());
    return {of_x, of_up, {}};
  }
};

}  // namespace

std::optional<at::Tensor> gated(const at::Tensor& x, const at::Tensor& up, Activation activation) {
  if (activation != Activation::Silu && activation != Activation::GeluTanh) return std::nullopt;
  return Gated::apply(x.contiguous(), up.contiguous(), activation == Activation::Silu ? Gate::Silu : Gate::GeluTanh);
}

}  // namespace levin::nn::fused
