#include <levin/modules/optim/optimizers/adamax.h>
#include <levin/modules/optim/engine/elementwise.h>

#include <cmath>
#include <utility>

namespace levin::optim {
namespace {

template <bool kDecay>
struct AdamaxRule {
  static constexpr std::array<size_t, 2> kState = {0, 1};
  double weight_decay, beta1, beta2, eps, step_size;

  AdamaxRule(const AdamaxOptions& options, const ParamState& state)
      : weight_decay(options.weight_decay),
        beta1(options.betas[0]),
        beta2(options.betas[1]),
        eps(options.eps),
        step_size(options.lr / (1 - std::pow(beta1, static_cast<double>(state.step)))) {}

  template <class V>
  void operator()(V& parameter, V gradient, V* state) const {
    using namespace detail;
    gradient = with_l2<kDecay>(gradient, parameter, weight_decay);
    state[0] = lerp(state[0], gradient, 1 - beta1);
    state[1] = maximum(mul_scalar(state[1], beta2), add_scalar(abs(gradient), eps));
    parameter = addcdiv(parameter, state[0], state[1], -step_size);
  }
};

}  // namespace

Adamax::Adamax(std::vector<at::Tensor> parameters, AdamaxOptions options)
    : Adamax(detail::one_group(std::move(parameters)), std::move(options)) {}
Adamax::Adamax(ParamGroups groups, AdamaxOptions options) : OptimizerOf("Adamax", groups, std::move(options)) {}

StateNames Adamax::state_names() const { return {.tensors = {"exp_avg", "exp_inf"}}; }

ParamState Adamax::make_state(const AdamaxOptions& /*options*/, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter), detail::zeros_for(*member.parameter)});
}

void Adamax::update_group(const AdamaxOptions& options, Members& members) {
  detail::with_flags(
      [&]<bool kDecay>() { detail::step_elementwise<AdamaxRule<kDecay>>(options, gradient_multiplier(), members); },
      options.weight_decay != 0);
}

}  // namespace levin::optim
