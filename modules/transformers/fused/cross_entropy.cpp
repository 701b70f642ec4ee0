#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <levin/core/system/error.h>
#include <levin/modules/transformers/fused/fused_operators.h>
#include <levin/modules/transformers/fused/graph_gradients.h>
#include <levin/modules/transformers/fused/row_passes.h>
#include <torch/csrc/autograd/custom_function.h>

namespace levin::nn::fused {
namespace {

using torch::autograd::AutogradContext;

struct CrossEntropySum : torch::autograd::Function<CrossEntropySum> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits, const at::Tensor& targets,
                            int64_t ignored) {
    const Rows size = {.rows = logits.size(0), .cols = logits.size(1)};
    at::Tensor losses = at::empty({size.rows}, logits.options()), shifts = at::empty({2, size.rows}, logits.options());
    if (!cross_entropy_rows(size, logits.const_data_ptr<float>(), targets.const_data_ptr<int64_t>(), ignored,
                            losses.mutable_data_ptr<float>(), shifts.mutable_data_ptr<float>()))
      throw UsageError("cross entropy: a target is out of bounds, neither one of ", size.cols, " classes nor ", ignored,
                       ", which does not count");
    context->save_for_backward({logits, targets, shifts});
    context->saved_data["ignored"] = ignored;
    return losses.sum();
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &logits = saved[0], &targets = saved[1], &shifts = saved[2];
    const int64_t ignored = context->saved_data["ignored"].toInt();
    if (at::GradMode::is_enabled()) {
      const auto plain = [&](const variable_list& in) {
        return at::cross_entropy_loss(in[0], targets, {}, at::Reduction::Sum, ignored);
      };
      return {graph_gradients(plain, {logits}, gradients[0])[0], {}, {}};
    }
    at::Tensor of_logits = at::empty_like(logits);
    cross_entropy_backward_rows({.rows = logits.size(0), .cols = logits.size(1)}, logits.const_data_ptr<float>(),
                                targets.const_data_ptr<int64_t>(), ignored, shifts.const_data_ptr<float>(),
                                gradients[0].item<float>(), of_logits.mutable_data_ptr<float>());
    return {of_logits, {}, {}};
  }
};

}  // namespace

at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets, int64_t ignored) {
  return CrossEntropySum::apply(logits.contiguous(), targets.contiguous(), ignored);
}

}  // namespace levin::nn::fused
