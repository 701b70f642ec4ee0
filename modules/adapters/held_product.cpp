#include <levin/modules/adapters/held_product.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace levin::adapters {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Multiplies `input` [n, in] without a graph.
at::Tensor multiply(const at::Tensor& input, const at::Tensor& held, const HeldForm& form, bool by_transpose) {
  const int64_t step = rows_at_once(form, held.device());
  at::Tensor output = by_transpose ? at::empty({input.size(0), form.rows}, input.options())
                                   : at::zeros({input.size(0), form.cols}, input.options());
  for (int64_t begin = 0; begin < form.rows; begin += step) {
    const int64_t count = std::min(step, form.rows - begin);
    const at::Tensor rows = rows_of(held, form, begin, count, input.scalar_type());
    if (by_transpose) {
      at::Tensor part = output.narrow(1, begin, count);
      at::mm_out(part, input, rows.t());
    } else {
      output.addmm_(input.narrow(1, begin, count), rows);
    }
  }
  return output;
}

/// Its backward is a product of the same kind, so that it has derivatives of all orders.
struct HeldProduct : torch::autograd::Function<HeldProduct> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& held, HeldForm form,
                            bool by_transpose) {
    context->save_for_backward({held});
    context->saved_data["form"] =
        std::vector<int64_t>{static_cast<int64_t>(form.format), static_cast<int64_t>(form.double_quant), form.rows,
                             form.cols, static_cast<int64_t>(by_transpose)};
    return multiply(input, held, form, by_transpose);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const std::vector<int64_t> form = context->saved_data["form"].toIntVector();
    const HeldForm same = {
        .format = static_cast<BaseFormat>(form[0]), .double_quant = form[1] != 0, .rows = form[2], .cols = form[3]};
    at::Tensor gradient = HeldProduct::apply(gradients[0], context->get_saved_variables()[0], same, form[4] == 0);
    return {std::move(gradient), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor held_product(const at::Tensor& input, const at::Tensor& held, const HeldForm& form, bool by_transpose) {
  const int64_t in = by_transpose ? form.cols : form.rows, out = by_transpose ? form.rows : form.cols;
  if (input.dim() == 0 || input.size(-1) != in)
    throw Error("a layer with a weight for ", in, " features was given an input of ", input.sizes());
  const c10::DeviceType device = input.device().type();
  const bool is_autocast = at::autocast::is_autocast_enabled(device) && input.is_floating_point();
  const at::Tensor seen = is_autocast ? input.to(at::autocast::get_autocast_dtype(device)) : input;
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = out;
  return HeldProduct::apply(seen.reshape({-1, in}), held, form, by_transpose).view(sizes);
}

}  // namespace levin::adapters
