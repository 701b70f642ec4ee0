#include <levin/modules/nn/named_loss.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/smooth_l1_loss.h>
#include <levin/core/system/error.h>
#include <levin/modules/nn/class_loss.h>

namespace levin {
namespace {

constexpr const char* kMoreClasses = "give the model a number for each class";

/// A regression loss would broadcast one tensor to the shape of the other, which is rarely intended; only a column may
/// match a list.
at::Tensor shaped_as(const at::Tensor& output, const at::Tensor& target, const std::string& loss) {
  if (output.sizes() == target.sizes()) return target;
  if (output.dim() == target.dim() + 1 && output.size(-1) == 1 && output.numel() == target.numel())
    return target.unsqueeze(-1);
  throw UsageError("model.loss: ", loss, " compares tensors of one shape; the model makes ", output.sizes(),
                   ", the target is ", target.sizes());
}

}  // namespace

std::vector<std::string> named_losses() {
  return {"cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits"};
}

std::string loss_for(const at::Tensor& output, const at::Tensor& target) {
  const bool one_number = output.dim() == 1 || (output.dim() == 2 && output.size(1) == 1);
  if (target.scalar_type() == at::kLong && !one_number && target.dim() + 1 == output.dim()) return "cross_entropy";
  if (target.is_floating_point() && one_number && target.numel() == output.numel()) return "mse_loss";
  throw UsageError("model.loss: auto cannot tell which loss is meant: the model makes ", output.scalar_type(), " ",
                   output.sizes(), ", the target is ", target.scalar_type(), " ", target.sizes(),
                   "; choose mse_loss for numbers, cross_entropy for classes or a probability for each, "
                   "binary_cross_entropy_with_logits for yes or no");
}

at::Tensor loss_by_name(const std::string& name, const at::Tensor& output, const at::Tensor& given) {
  if (name == "cross_entropy") return cross_entropy_of(output, given, kMoreClasses);
  if (name == "nll_loss") return nll_of(output, given, kMoreClasses);
  at::Tensor target = shaped_as(output, given, name);
  if (!target.is_floating_point()) target = target.to(output.scalar_type());
  if (name == "mse_loss") return at::mse_loss(output, target);
  if (name == "l1_loss") return at::l1_loss(output, target);
  if (name == "smooth_l1_loss") return at::smooth_l1_loss(output, target);
  return at::binary_cross_entropy_with_logits(output, target);
}

bool compares_classes(const std::string& loss) { return loss == "cross_entropy" || loss == "nll_loss"; }

}  // namespace levin
