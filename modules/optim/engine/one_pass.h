#pragma once
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linspace.h>
#include <levin/modules/optim/engine/elementwise.h>
#include <levin/modules/optim/engine/fused.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

// Steps on the CPU with the numbers of LibTorch's fused kernels (`fused=True` in Python): the rule runs in one pass
// over memory, with the processor's square roots and the gradients' multiplier taken in. How the kernels round depends
// on how LibTorch was compiled, so each rule is compared with its kernel before it is first used; where they differ,
// and for dtypes other than float and double, the kernel itself is called.
namespace levin::optim::detail {

/// A rule in one pass.
template <class Rule>
struct OnePass : Rule {
  static constexpr bool kRooted = false;
  static constexpr bool kLikeKernels = true;
  using Rule::Rule;

  template <class V>
  void operator()(V& parameter, V gradient, V* state) const {
    if constexpr (Rooted<Rule>)
      Rule::after(parameter, gradient, state, sqrt(Rule::before(parameter, gradient, state)));
    else
      Rule::operator()(parameter, gradient, state);
  }
};

/// Calls a kernel for one member, as `kernel(FusedLists)`.
template <size_t kTensors, class Member, class Kernel>
void call_kernel(const Member& member, double multiplier, const Kernel& kernel) {
  FusedLists lists = {.parameters = {*member.parameter},
                      .gradients = {member.gradient},
                      .step = member.state->step,
                      .numbers = member.state->numbers};
  for (size_t i = 0; i < kTensors; ++i) lists.state[i] = {member.state->tensors[i]};
  kernel(multiplier, std::move(lists));
}

/// Returns the bytes of the kernel's vectors, with which `OnePass<Rule>` makes the kernel's bits; 0 if it does not.
/// `options`: any that the rule is for, in which no factor is 0 or 1; `numbers`: of the state after a step.
template <class Rule, class T, class Options, class Kernel>
int64_t bytes_of_vectors(const Options& options, const std::vector<double>& numbers, const Kernel& kernel) {
  struct Member {
    const at::Tensor* parameter;
    at::Tensor gradient;
    ParamState* state;
    int64_t begin = 0, numel_of_whole = 0;
  };
  constexpr int64_t kNumel = 79;  // no multiple of a vector's size
  const auto make = [](double from, double to) {
    return at::linspace(from, to, kNumel, c10::CppTypeToScalarType<T>::value).sin();
  };
  for (const int64_t bytes : {64, 32}) {
    const at::Tensor ours = make(0, 3), theirs = ours.clone(), gradient = make(1, 40);
    ParamState state = state_of({}, numbers), kernels = state;
    for (size_t i = 0; i < Rule::kState.size(); ++i) {
      state.tensors.push_back(make(0.1, 0.3 + static_cast<double>(i)));
      kernels.tensors.push_back(state.tensors.back().clone());
    }
    for (int step = 0; step < 20; ++step) {
      state.step = kernels.step = step + 1;
      std::vector<Member> members = {{&ours, gradient, &state}};
      step_elementwise<OnePass<Rule>>(options, 1, members, {bytes, bytes});
      call_kernel<Rule::kState.size()>(Member{&theirs, gradient, &kernels}, 1, kernel);
    }
    bool equal = ours.equal(theirs);
    for (size_t i = 0; i < Rule::kState.size(); ++i) equal = equal && state.tensors[i].equal(kernels.tensors[i]);
    if (equal) return bytes;
  }
  return 0;
}

/// Steps all members by `Rule(options, *member.state)` with the kernel's numbers. `kernel(options, multiplier, lists)`
/// steps parameters that have the same step; `typical`, `numbers`: as bytes_of_vectors takes them.
template <class Rule, class Options, class Members, class Kernel>
void step_in_one_pass(const Options& options, double multiplier, Members& members, const Options& typical,
                      const std::vector<double>& numbers, const Kernel& kernel) {
  constexpr size_t kTensors = Rule::kState.size();
  static const KernelVectors vectors = [&] {
    const auto typically = [&](double factor, FusedLists lists) { kernel(typical, factor, std::move(lists)); };
    return KernelVectors{bytes_of_vectors<Rule, float>(typical, numbers, typically),
                         bytes_of_vectors<Rule, double>(typical, numbers, typically)};
  }();
  const auto needs_kernel = [&](const auto& member) {
    const at::Tensor& parameter = *member.parameter;
    if (!parameter.is_floating_point() || !has_same_layout(member.gradient, parameter)) return false;
    for (size_t i = 0; i < kTensors; ++i)
      if (!has_same_layout(member.state->tensors[i], parameter)) return false;
    const at::ScalarType dtype = parameter.scalar_type();
    return (dtype == at::kFloat ? vectors.for_floats : dtype == at::kDouble ? vectors.for_doubles : 0) == 0;
  };
  const auto rest = std::stable_partition(members.begin(), members.end(), std::not_fn(needs_kernel));
  for (auto member = rest; member != members.end(); ++member)
    call_kernel<kTensors>(*member, multiplier, [&](double factor, FusedLists lists) {
      kernel(options, factor, std::move(lists));
      member->parameter->unsafeGetTensorImpl()->bump_version();
    });
  members.erase(rest, members.end());
  step_elementwise<OnePass<Rule>>(options, multiplier, members, vectors);
}

}  // namespace levin::optim::detail
