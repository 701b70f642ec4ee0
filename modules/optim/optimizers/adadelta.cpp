#include <levin/modules/optim/optimizers/adadelta.h>
#include <levin/modules/optim/engine/elementwise.h>

#include <utility>

namespace levin::optim {
namespace {

template <bool kDecay>
struct AdadeltaRule {
  static constexpr std::array<size_t, 2> kState = {0, 1};
  double lr, weight_decay, rho, eps;

  AdadeltaRule(const AdadeltaOptions& options, const ParamState& /*state*/)
      : lr(options.lr), weight_decay(options.weight_decay), rho(options.rho), eps(options.eps) {}

  template <class V>
  void operator()(V& parameter, V gradient, V* state) const {
    using namespace detail;
    gradient = with_l2<kDecay>(gradient, parameter, weight_decay);
    state[0] = addcmul(mul_scalar(state[0], rho), gradient, gradient, 1 - rho);
    const V step = mul(div(sqrt(add_scalar(state[1], eps)), sqrt(add_scalar(state[0], eps))), gradient);
    state[1] = addcmul(mul_scalar(state[1], rho), step, step, 1 - rho);
    parameter = add(parameter, step, -lr);
  }
};

}  // namespace

Adadelta::Adadelta(std::vector<at::Tensor> parameters, AdadeltaOptions options)
    : Adadelta(detail::one_group(std::move(parameters)), std::move(options)) {}
Adadelta::Adadelta(ParamGroups groups, AdadeltaOptions options) : OptimizerOf("Adadelta", groups, std::move(options)) {}

StateNames Adadelta::state_names() const { return {.tensors = {"square_avg", "acc_delta"}}; }

ParamState Adadelta::make_state(const AdadeltaOptions& /*options*/, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter), detail::zeros_for(*member.parameter)});
}

void Adadelta::update_group(const AdadeltaOptions& options, Members& members) {
  detail::with_flags(
      [&]<bool kDecay>() { detail::step_elementwise<AdadeltaRule<kDecay>>(options, gradient_multiplier(), members); },
      options.weight_decay != 0);
}

}  // namespace levin::optim
