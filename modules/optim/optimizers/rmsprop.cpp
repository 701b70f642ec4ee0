#include <levin/modules/optim/optimizers/rmsprop.h>
#include <levin/modules/optim/engine/elementwise.h>

#include <utility>

namespace levin::optim {
namespace {

template <bool kMomentum, bool kCentered>
constexpr auto used_tensors() {
  if constexpr (kMomentum && kCentered)
    return std::array<size_t, 3>{0, 1, 2};
  else if constexpr (kMomentum)
    return std::array<size_t, 2>{0, 1};
  else if constexpr (kCentered)
    return std::array<size_t, 2>{0, 2};
  else
    return std::array<size_t, 1>{0};
}

template <bool kDecay, bool kMomentum, bool kCentered>
struct RMSpropRule {
  static constexpr auto kState = used_tensors<kMomentum, kCentered>();
  static constexpr bool kRooted = true;
  double lr, weight_decay, alpha, eps, momentum;

  RMSpropRule(const RMSpropOptions& options, const ParamState& /*state*/)
      : lr(options.lr),
        weight_decay(options.weight_decay),
        alpha(options.alpha),
        eps(options.eps),
        momentum(options.momentum) {}

  template <class V>
  V before(const V& parameter, V gradient, V* state) const {
    using namespace detail;
    gradient = with_l2<kDecay>(gradient, parameter, weight_decay);
    state[0] = addcmul(mul_scalar(state[0], alpha), gradient, gradient, 1 - alpha);
    if constexpr (!kCentered) return state[0];
    V& mean = state[kMomentum ? 2 : 1];
    mean = lerp(mean, gradient, 1 - alpha);
    return addcmul(state[0], mean, mean, -1);
  }
  template <class V>
  void after(V& parameter, V gradient, V* state, const V& root) const {
    using namespace detail;
    gradient = with_l2<kDecay>(gradient, parameter, weight_decay);
    const V average = add_scalar(root, eps);
    if constexpr (kMomentum) {
      state[1] = addcdiv(mul_scalar(state[1], momentum), gradient, average);
      parameter = add(parameter, state[1], -lr);
    } else {
      parameter = addcdiv(parameter, gradient, average, -lr);
    }
  }
};

}  // namespace

RMSprop::RMSprop(std::vector<at::Tensor> parameters, RMSpropOptions options)
    : RMSprop(detail::one_group(std::move(parameters)), std::move(options)) {}
RMSprop::RMSprop(ParamGroups groups, RMSpropOptions options) : OptimizerOf("RMSprop", groups, std::move(options)) {}

StateNames RMSprop::state_names() const { return {.tensors = {"square_avg", "momentum_buffer", "grad_avg"}}; }

ParamState RMSprop::make_state(const RMSpropOptions& options, const Member& member) const {
  const auto zeros_if = [&](bool wanted) { return wanted ? detail::zeros_for(*member.parameter) : at::Tensor(); };
  return detail::state_of({zeros_if(true), zeros_if(options.momentum > 0), zeros_if(options.centered)});
}

void RMSprop::update_group(const RMSpropOptions& options, Members& members) {
  for (Member& member : members) {  // a group may get its momentum later
    at::Tensor& buffer = member.state->tensors[1];
    if (options.momentum > 0 && !buffer.defined()) buffer = detail::zeros_for(*member.parameter);
  }
  detail::with_flags(
      [&]<bool kDecay, bool kMomentum, bool kCentered>() {
        detail::step_elementwise<RMSpropRule<kDecay, kMomentum, kCentered>>(options, gradient_multiplier(), members);
      },
      options.weight_decay != 0, options.momentum > 0, options.centered);
}

}  // namespace levin::optim
