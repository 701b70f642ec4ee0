#include <levin/modules/nn/class_loss.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/nll_loss_nd.h>
#include <levin/core/system/error.h>
#include <levin/data/ignored_target.h>

#include <c10/util/Exception.h>

namespace levin {
namespace {

bool are_probabilities(const at::Tensor& logits, const at::Tensor& target) {
  return target.is_floating_point() && target.sizes() == logits.sizes();
}

void check_class_shapes(const at::Tensor& logits, const at::Tensor& target) {
  if (logits.dim() < 2 || logits.size(1) == 1)
    throw UsageError("model: a loss of classes needs one number for each class, [samples, classes]; the model makes ",
                     logits.sizes(), "; for numbers choose mse_loss, for yes or no binary_cross_entropy_with_logits");
  if (are_probabilities(logits, target)) return;
  if (target.scalar_type() != at::kLong && target.scalar_type() != at::kByte)
    throw UsageError("data: a loss of classes needs a target of classes, int64, or a probability for each; it is ",
                     target.scalar_type(), " ", target.sizes(), "; for numbers choose mse_loss");
  at::DimVector expected(logits.sizes());
  expected.erase(expected.begin() + 1);
  if (target.sizes() != expected)
    throw UsageError("data: the model makes ", logits.sizes(), ", so that a target ", at::IntArrayRef(expected),
                     " was expected; it is ", target.sizes());
}

template <class Loss>
at::Tensor explained(const at::Tensor& logits, const at::Tensor& target, const std::string& advice, const Loss& loss) {
  check_class_shapes(logits, target);
  try {
    return loss();
  } catch (const c10::IndexError&) {
    if (!target.is_cpu() || target.is_floating_point()) throw;
    const at::Tensor counted = target.masked_select(target.ne(kIgnoredTarget));
    throw UsageError("the targets of a batch are classes from ", counted.min().item<int64_t>(), " to ",
                     counted.max().item<int64_t>(), ", and the model knows ", logits.size(1), ", from 0 to ",
                     logits.size(1) - 1, "; ", advice);
  }
}

}  // namespace

at::Tensor cross_entropy_of(const at::Tensor& logits, const at::Tensor& target, const std::string& advice) {
  return explained(logits, target, advice, [&] { return at::cross_entropy_loss(logits, target); });
}

at::Tensor counted_cross_entropy_of(const at::Tensor& logits, const at::Tensor& target, const std::string& advice) {
  return explained(logits, target, advice, [&] {
    const at::Tensor sum = at::cross_entropy_loss(logits, target, {}, at::Reduction::Sum, kIgnoredTarget);
    return sum / target.ne(kIgnoredTarget).sum().clamp_min(1);
  });
}

at::Tensor nll_of(const at::Tensor& log_probabilities, const at::Tensor& target, const std::string& advice) {
  return explained(log_probabilities, target, advice, [&] { return at::nll_loss_nd(log_probabilities, target); });
}

}  // namespace levin
