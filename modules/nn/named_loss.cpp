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
at::Tensor shaped_as(const at::Tensor& output, const at::Tensor& target, NamedLoss loss) {
  if (output.sizes() == target.sizes()) return target;
  if (output.dim() == target.dim() + 1 && output.size(-1) == 1 && output.numel() == target.numel())
    return target.unsqueeze(-1);
  throw UsageError("model.loss: ", Choice<NamedLoss>(loss).word(), " compares tensors of one shape; the model makes ",
                   output.sizes(), ", the target is ", target.sizes());
}

}  // namespace

std::vector<std::string> losses_without(NamedLoss left_out) {
  std::vector<std::string> losses;
  for (const auto& [word, loss] : kWords<NamedLoss>)
    if (loss != left_out) losses.emplace_back(word);
  return losses;
}

NamedLoss loss_for(const at::Tensor& output, const at::Tensor& target) {
  const bool one_number = output.dim() == 1 || (output.dim() == 2 && output.size(1) == 1);
  const bool are_classes = target.scalar_type() == at::kLong && !one_number && target.dim() + 1 == output.dim();
  if (are_classes) return NamedLoss::CrossEntropy;
  if (target.is_floating_point() && one_number && target.numel() == output.numel()) return NamedLoss::MseLoss;
  throw UsageError("model.loss: auto cannot tell which loss is meant: the model makes ", output.scalar_type(), " ",
                   output.sizes(), ", the target is ", target.scalar_type(), " ", target.sizes(),
                   "; choose mse_loss for numbers, cross_entropy for classes or a probability for each, "
                   "binary_cross_entropy_with_logits for yes or no");
}

at::Tensor compute_loss(NamedLoss loss, const at::Tensor& output, const at::Tensor& given) {
  if (loss == NamedLoss::CrossEntropy) return cross_entropy_of(output, given, kMoreClasses);
  if (loss == NamedLoss::NllLoss) return nll_of(output, given, kMoreClasses);
  at::Tensor target = shaped_as(output, given, loss);
  if (!target.is_floating_point()) target = target.to(output.scalar_type());
  if (loss == NamedLoss::MseLoss) return at::mse_loss(output, target);
  if (loss == NamedLoss::L1Loss) return at::l1_loss(output, target);
  if (loss == NamedLoss::SmoothL1Loss) return at::smooth_l1_loss(output, target);
  return at::binary_cross_entropy_with_logits(output, target);
}

bool compares_classes(NamedLoss loss) { return loss == NamedLoss::CrossEntropy || loss == NamedLoss::NllLoss; }

}  // namespace levin
