#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/choice.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin {

/// The losses that options name.
enum class NamedLoss : uint8_t {
  Auto,    ///< the model's own, or the one that fits the tensors
  Script,  ///< a method of the script
  Output,  ///< the output of the program
  CrossEntropy,
  NllLoss,
  MseLoss,
  L1Loss,
  SmoothL1Loss,
  BinaryCrossEntropyWithLogits
};
template <>
inline constexpr auto kWords<NamedLoss> =
    words_of<NamedLoss>({{"auto", NamedLoss::Auto},
                         {"script", NamedLoss::Script},
                         {"output", NamedLoss::Output},
                         {"cross_entropy", NamedLoss::CrossEntropy},
                         {"nll_loss", NamedLoss::NllLoss},
                         {"mse_loss", NamedLoss::MseLoss},
                         {"l1_loss", NamedLoss::L1Loss},
                         {"smooth_l1_loss", NamedLoss::SmoothL1Loss},
                         {"binary_cross_entropy_with_logits", NamedLoss::BinaryCrossEntropyWithLogits}});

/// Returns the words of all losses but one.
std::vector<std::string> losses_without(NamedLoss left_out);

/// Returns the loss that Auto selects for these tensors: CrossEntropy for classes, MseLoss for single numbers. Throws
/// levin::UsageError if the tensors leave it open.
NamedLoss loss_for(const at::Tensor& output, const at::Tensor& target);

/// Computes the mean of a loss that compares an output with a target: one of CrossEntropy and those after it. Throws
/// levin::UsageError if the tensors do not fit it.
at::Tensor compute_loss(NamedLoss loss, const at::Tensor& output, const at::Tensor& target);

/// Returns whether the loss compares numbers for each class with a class, so that there is an accuracy.
bool compares_classes(NamedLoss loss);

}  // namespace levin
