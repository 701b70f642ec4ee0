#include <levin/modules/optim/optimizers/nadam.h>
#include <levin/modules/optim/engine/elementwise.h>

#include <cmath>
#include <utility>

namespace levin::optim {
namespace {

/// Returns the momentum of a step.
double momentum_at(const NAdamOptions& options, double step) {
  return options.betas[0] * (1 - 0.5 * std::pow(0.96, step * options.momentum_decay));
}

template <bool kL2>
struct NAdamRule {
  static constexpr std::array<size_t, 2> kState = {0, 1};
  static constexpr bool kRooted = true;
  double weight_decay, kept, beta1, beta2, eps, correction, of_gradient, of_average;

  NAdamRule(const NAdamOptions& options, const ParamState& state)
      : weight_decay(options.weight_decay),
        kept(options.decoupled_weight_decay ? 1 - options.lr * options.weight_decay : 1),
        beta1(options.betas[0]),
        beta2(options.betas[1]),
        eps(options.eps) {
    const auto step = static_cast<double>(state.step);
    const double next = momentum_at(options, step + 1), product = state.numbers[0];
    correction = 1 - std::pow(beta2, step);
    of_gradient = -options.lr * (1 - momentum_at(options, step)) / (1 - product);
    of_average = -options.lr * next / (1 - product * next);
  }

  template <class V>
  V before(const V& parameter, V gradient, V* state) const {
    using namespace detail;
    gradient = with_l2<kL2>(gradient, parameter, weight_decay);
    state[0] = lerp(state[0], gradient, 1 - beta1);
    state[1] = addcmul(mul_scalar(state[1], beta2), gradient, gradient, 1 - beta2);
    return div_scalar(state[1], correction);
  }
  template <class V>
  void after(V& parameter, V gradient, const V* state, const V& root) const {
    using namespace detail;
    gradient = with_l2<kL2>(gradient, parameter, weight_decay);
    if constexpr (!kL2) parameter = mul_scalar(parameter, kept);
    const V denominator = add_scalar(root, eps);
    parameter = addcdiv(addcdiv(parameter, gradient, denominator, of_gradient), state[0], denominator, of_average);
  }
};

}  // namespace

NAdam::NAdam(std::vector<at::Tensor> parameters, NAdamOptions options)
    : NAdam(detail::one_group(std::move(parameters)), std::move(options)) {}
NAdam::NAdam(ParamGroups groups, NAdamOptions options) : OptimizerOf("NAdam", groups, std::move(options)) {}

StateNames NAdam::state_names() const { return {.tensors = {"exp_avg", "exp_avg_sq"}, .numbers = {"mu_product"}}; }

ParamState NAdam::make_state(const NAdamOptions& /*options*/, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter), detail::zeros_for(*member.parameter)}, {1});
}

void NAdam::update_group(const NAdamOptions& options, Members& members) {
  for (Member& member : members) {
    const double momentum = momentum_at(options, static_cast<double>(member.state->step));
    double& product = member.state->numbers[0];
    product = state_number(product * state_number(momentum, *member.parameter), *member.parameter);
  }
  detail::with_flags(
      [&]<bool kL2>() { detail::step_elementwise<NAdamRule<kL2>>(options, gradient_multiplier(), members); },
      options.weight_decay != 0 && !options.decoupled_weight_decay);
}

}  // namespace levin::optim
