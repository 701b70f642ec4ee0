#include <ATen/ops/rms_norm.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <levin/modules/transformers/fused/fused_operators.h>
#include <levin/modules/transformers/fused/graph_gradients.h>
#include <levin/modules/transformers/fused/row_passes.h>
#include <torch/csrc/autograd/custom_function.h>

namespace levin::nn::fused {
namespace {

using torch::autograd::AutogradContext;

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, double eps) {
    const Rows size = {.rows = x.numel() / x.size(-1), .cols = x.size(-1)};
    at::Tensor y = at::empty_like(x), scales = at::empty({size.rows}, x.options());
    rms_norm_rows(size, x.const_data_ptr<float>(), weight.const_data_ptr<float>(), static_cast<float>(eps),
                  y.mutable_data_ptr<float>(), scales.mutable_data_ptr<float>());
    context->save_for_backward({x, weight, scales});
    context->saved_data["eps"] = eps;
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &scales = saved[2];
    if (at::GradMode::is_enabled()) {
      const double eps = context->saved_data["eps"].toDouble();
      variable_list found =
          graph_gradients([eps](const variable_list& in) { return at::rms_norm(in[0], in[1].sizes(), in[1], eps); },
                          {x, weight}, gradients[0]);
      return {found[0], found[1], {}};
    }
    const Rows size = {.rows = scales.size(0), .cols = weight.size(0)};
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor of_x, of_weight;
    if (context->needs_input_grad(0)) {
      of_x = at::empty_like(x);
      rms_norm_backward_rows(size, gradient.const_data_ptr<float>(), x.const_data_ptr<float>(),
                             weight.const_data_ptr<float>(), scales.const_data_ptr<float>(),
                             of_x.mutable_data_ptr<float>());
    }
    if (context->needs_input_grad(1))
      of_weight =
          (gradient.view({size.rows, size.cols}) * x.view({size.rows, size.cols})).mul_(scales.unsqueeze(1)).sum(0);
    return {of_x, of_weight, {}};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  // The copy's memory is there whenever it is read, also if fsdp gathers the weight for an operator alone.
  return RmsNorm::apply(x.contiguous(), weight.clone(), eps);
}

}  // namespace levin::nn::fused
