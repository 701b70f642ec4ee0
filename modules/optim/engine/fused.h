#pragma once
#include <levin/modules/optim/engine/arithmetic.h>
#include <levin/modules/optim/engine/captured_numbers.h>
#include <levin/modules/optim/optimizers/adagrad.h>
#include <levin/modules/optim/optimizers/sgd.h>

#include <array>
#include <cstdint>

// Steps by LibTorch's fused kernels, which process all parameters of a group in one launch on CUDA.
namespace levin::optim::detail {

/// The options of Adam and AdamW in common form.
struct AdamSettings {
  double lr, beta1, beta2, eps, weight_decay;
  bool amsgrad, decoupled;
  bool fused = false;  ///< on the CPU: the numbers of LibTorch's fused kernels
};

/// Parameters with gradients and states, all of one device, dtype and step.
struct FusedLists {
  TensorList parameters = {}, gradients = {};
  std::array<TensorList, 3> state = {};
  int64_t step = 0;
  std::vector<double> numbers = {};
};

/// `numbers`: null outside of captured steps.
void fused_sgd(const SGDOptions& options, double multiplier, FusedLists lists,
               const CapturedNumbers* numbers = nullptr);
void fused_adam(const AdamSettings& settings, double multiplier, FusedLists lists,
                const CapturedNumbers* numbers = nullptr);
void fused_adagrad(const AdagradOptions& options, double multiplier, FusedLists lists);

/// Returns a + b * c as LibTorch's fused kernels of the CPU compute a step's numbers: compiled for AVX2 and AVX-512,
/// they round once.
double kernel_multiply_add(double a, double b, double c);

/// Throws levin::UsageError: a group whose members differ cannot be captured.
[[noreturn]] void refuse_capture();

template <class Members>
FusedLists lists_of_alike(const Members& members, size_t tensors) {
  FusedLists lists;
  const at::Tensor& first = *members.front().parameter;
  if (!first.is_floating_point()) return {};
  lists.step = members.front().state->step;
  lists.numbers = members.front().state->numbers;
  for (const auto& member : members) {
    const at::Tensor& parameter = *member.parameter;
    if (parameter.device() != first.device() || parameter.scalar_type() != first.scalar_type()) return {};
    if (member.state->step != lists.step || member.state->numbers != lists.numbers) return {};
    if (member.gradient.scalar_type() != first.scalar_type()) return {};
    lists.parameters.push_back(parameter);
    lists.gradients.push_back(member.gradient);
    for (size_t i = 0; i < tensors; ++i) lists.state[i].push_back(member.state->tensors[i]);
  }
  return lists;
}

/// Returns the lists of a group whose members are all on one CUDA device with the same dtype and step; empty otherwise.
/// `tensors`: number of state tensors. In captured steps members may be on any device, and levin::UsageError is thrown
/// if they differ.
template <class Members>
FusedLists fused_lists(const Members& members, size_t tensors, bool captured) {
  if (!captured && !members.front().parameter->is_cuda()) return {};
  FusedLists lists = lists_of_alike(members, tensors);
  if (captured && lists.parameters.empty()) refuse_capture();
  return lists;
}

}  // namespace levin::optim::detail
