#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <levin/modules/transformers/fused/fused_operators.h>
#include <levin/modules/transformers/fused/row_passes.h>
#include <torch/csrc/autograd/custom_function.h>

namespace levin::nn::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Returns the rows of a tensor [batch or 1, heads or 1, time, size] without gaps in the last dimension.
StridedRows rows_of(const at::Tensor& x) {
  return {.data = x.const_data_ptr<float>(),
          .outer = x.size(0) == 1 ? 0 : x.stride(0),
          .middle = x.stride(2),
          .inner = x.stride(1)};
}

/// Its backward is the rotation in the other direction, so that it has derivatives of all orders.
struct Rotated : torch::autograd::Function<Rotated> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given, const at::Tensor& cosines,
                            const at::Tensor& sines, bool is_back) {
    const at::Tensor x = given.stride(-1) == 1 ? given : given.contiguous();
    at::Tensor y = at::empty({x.size(0), x.size(2), x.size(1), x.size(3)}, x.options());
    rotate_rows({.batch = x.size(0),
                 .time = x.size(2),
                 .heads = x.size(1),
                 .cols = x.size(3),
                 .dims = cosines.size(-1),
                 .x = rows_of(x),
                 .cosines = rows_of(cosines),
                 .sines = rows_of(sines),
                 .direction = is_back ? -1.0F : 1.0F},
                y.mutable_data_ptr<float>());
    context->save_for_backward({cosines, sines});
    context->saved_data["is_back"] = is_back;
    return y.transpose(1, 2);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    return {Rotated::apply(gradients[0], saved[0], saved[1], !context->saved_data["is_back"].toBool()), {}, {}, {}};
  }
};

}  // namespace

at::Tensor rotated(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines) {
  return Rotated::apply(x, cosines.contiguous(), sines.contiguous(), /*is_back=*/false);
}

}  // namespace levin::nn::fused
