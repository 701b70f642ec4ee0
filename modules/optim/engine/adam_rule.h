#pragma once
#include <levin/modules/optim/engine/elementwise.h>
#include <levin/modules/optim/engine/fused.h>
#include <levin/modules/optim/engine/one_pass.h>
#include <levin/modules/optim/engine/optimizer_of.h>

#include <cmath>
#include <cstddef>
#include <utility>

namespace levin::optim::detail {

template <class Options>
AdamSettings adam_settings(const Options& options, bool decoupled) {
  return {options.lr,           options.betas[0], options.betas[1], options.eps,
          options.weight_decay, options.amsgrad,  decoupled,        options.fused};
}

/// Source: https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html
template <bool kL2, bool kAmsgrad>
struct AdamRule {
  static constexpr std::array<size_t, kAmsgrad ? 3 : 2> kState = [] {
    std::array<size_t, kAmsgrad ? 3 : 2> all = {};
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }();
  static constexpr bool kRooted = true;
  double weight_decay, kept, beta1, beta2, eps, step_size, correction;

  AdamRule(const AdamSettings& settings, const ParamState& state)
      : weight_decay(settings.weight_decay),
        kept(kept_of(settings)),
        beta1(settings.beta1),
        beta2(settings.beta2),
        eps(settings.eps) {
    const auto step = static_cast<double>(state.step);
    step_size = settings.lr / (1 - std::pow(beta1, step));
    correction = std::sqrt(1 - std::pow(beta2, step));
  }

  static double kept_of(const AdamSettings& settings) {
    if (!settings.decoupled) return 1;
    return settings.fused ? kernel_multiply_add(1, -settings.lr, settings.weight_decay)
                          : 1 - settings.lr * settings.weight_decay;
  }

  template <class V>
  V before(const V& parameter, V gradient, V* state) const {
    gradient = with_l2<kL2>(gradient, parameter, weight_decay);
    state[0] = lerp(state[0], gradient, 1 - beta1);
    state[1] = decay_and_addcmul(state[1], beta2, gradient, gradient, 1 - beta2);
    if constexpr (kAmsgrad) state[2] = maximum(state[2], state[1]);
    return state[kAmsgrad ? 2 : 1];
  }
  template <class V>
  void after(V& parameter, const V& /*gradient*/, const V* state, const V& root) const {
    if constexpr (!kL2) parameter = mul_scalar(parameter, kept);
    parameter = addcdiv(parameter, state[0], add_scalar(div_scalar(root, correction), eps), -step_size);
  }
};

inline StateNames adam_state_names() { return {.tensors = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}}; }

inline ParamState adam_state(const at::Tensor& parameter, bool amsgrad) {
  return state_of({zeros_for(parameter), zeros_for(parameter), amsgrad ? zeros_for(parameter) : at::Tensor()});
}

template <class Members>
void step_adam(const AdamSettings& settings, double multiplier, const CapturedNumbers* numbers, Members& members) {
  FusedLists lists = fused_lists(members, settings.amsgrad ? 3 : 2, /*captured=*/numbers != nullptr);
  if (!lists.parameters.empty()) {
    fused_adam(settings, multiplier, std::move(lists), numbers);
    return;
  }
  with_flags(
      [&]<bool kL2, bool kAmsgrad>() {
        using Rule = AdamRule<kL2, kAmsgrad>;
        if (!settings.fused) return step_elementwise<Rule>(settings, multiplier, members);
        const AdamSettings typical = {1e-3, 0.9, 0.999, 1e-8, /*weight_decay=*/0.01, kAmsgrad, /*decoupled=*/!kL2,
                                      true};
        step_in_one_pass<Rule>(settings, multiplier, members, typical, /*numbers=*/{}, [](auto&&... arguments) {
          fused_adam(std::forward<decltype(arguments)>(arguments)...);
        });
      },
      settings.weight_decay != 0 && !settings.decoupled, settings.amsgrad);
}

}  // namespace levin::optim::detail
