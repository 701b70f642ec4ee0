#include <levin/modules/optim/optimizers/radam.h>
#include <levin/modules/optim/engine/elementwise.h>

#include <cmath>
#include <utility>

namespace levin::optim {
namespace {

template <bool kL2>
struct RAdamRule {
  static constexpr std::array<size_t, 2> kState = {0, 1};
  static constexpr bool kRooted = true;
  double lr, weight_decay, kept, beta1, beta2, eps, correction1, correction2;
  /// The factor of the adaptive rate; 0 while the variance is based on too few gradients.
  double rectification = 0;

  RAdamRule(const RAdamOptions& options, const ParamState& state)
      : lr(options.lr),
        weight_decay(options.weight_decay),
        kept(options.decoupled_weight_decay ? 1 - options.lr * options.weight_decay : 1),
        beta1(options.betas[0]),
        beta2(options.betas[1]),
        eps(options.eps) {
    const auto step = static_cast<double>(state.step);
    const double power = std::pow(beta2, step), most = 2 / (1 - beta2) - 1;
    correction1 = 1 - std::pow(beta1, step);
    correction2 = std::sqrt(1 - power);
    const double length = most - 2 * step * power / (1 - power);
    if (length > 5) rectification = std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));
  }

  template <class V>
  V before(const V& parameter, V gradient, V* state) const {
    using namespace detail;
    gradient = with_l2<kL2>(gradient, parameter, weight_decay);
    state[0] = lerp(state[0], gradient, 1 - beta1);
    state[1] = addcmul(mul_scalar(state[1], beta2), gradient, gradient, 1 - beta2);
    return state[1];
  }
  template <class V>
  void after(V& parameter, const V& /*gradient*/, const V* state, const V& root) const {
    using namespace detail;
    if constexpr (!kL2) parameter = mul_scalar(parameter, kept);
    V step = mul_scalar(div_scalar(state[0], correction1), lr);
    if (rectification != 0)
      step = mul_scalar(mul(step, div(scalar_like(root, correction2), add_scalar(root, eps))), rectification);
    parameter = add(parameter, step, -1);
  }
};

}  // namespace

RAdam::RAdam(std::vector<at::Tensor> parameters, RAdamOptions options)
    : RAdam(detail::one_group(std::move(parameters)), std::move(options)) {}
RAdam::RAdam(ParamGroups groups, RAdamOptions options) : OptimizerOf("RAdam", groups, std::move(options)) {}

StateNames RAdam::state_names() const { return {.tensors = {"exp_avg", "exp_avg_sq"}}; }

ParamState RAdam::make_state(const RAdamOptions& /*options*/, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter), detail::zeros_for(*member.parameter)});
}

void RAdam::update_group(const RAdamOptions& options, Members& members) {
  detail::with_flags(
      [&]<bool kL2>() { detail::step_elementwise<RAdamRule<kL2>>(options, gradient_multiplier(), members); },
      options.weight_decay != 0 && !options.decoupled_weight_decay);
}

}  // namespace levin::optim
