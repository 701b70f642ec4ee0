#include <levin/modules/optim/optimizers/asgd.h>
#include <levin/modules/optim/engine/elementwise.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace levin::optim {
namespace {

template <bool kDecay, bool kAverage>
struct ASGDRule {
  static constexpr std::array<size_t, 1> kState = {0};
  double weight_decay, kept, eta, mu;

  ASGDRule(const ASGDOptions& options, const ParamState& state)
      : weight_decay(options.weight_decay),
        kept(1 - options.lambd * state.numbers[0]),
        eta(state.numbers[0]),
        mu(state.numbers[1]) {}

  template <class V>
  void operator()(V& parameter, V gradient, V* state) const {
    using namespace detail;
    gradient = with_l2<kDecay>(gradient, parameter, weight_decay);
    parameter = add(mul_scalar(parameter, kept), gradient, -eta);
    state[0] = kAverage ? add(state[0], mul_scalar(add(parameter, state[0], -1), mu)) : parameter;
  }
};

/// Computes the learning rate and the averaging weight of the next step.
void advance(const ASGDOptions& options, const at::Tensor& parameter, ParamState& state) {
  const auto step = static_cast<double>(state.step);
  state.numbers[0] =
      state_number(options.lr / std::pow(1 + options.lambd * options.lr * step, options.alpha), parameter);
  state.numbers[1] = state_number(1 / std::max(1.0, step - options.t0), parameter);
}

}  // namespace

ASGD::ASGD(std::vector<at::Tensor> parameters, ASGDOptions options)
    : ASGD(detail::one_group(std::move(parameters)), std::move(options)) {}
ASGD::ASGD(ParamGroups groups, ASGDOptions options) : OptimizerOf("ASGD", groups, std::move(options)) {}

StateNames ASGD::state_names() const { return {.tensors = {"ax"}, .numbers = {"eta", "mu"}}; }

ParamState ASGD::make_state(const ASGDOptions& options, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter)}, {state_number(options.lr, *member.parameter), 1});
}

void ASGD::update_group(const ASGDOptions& options, Members& members) {
  // Members whose averaging has started, and the others.
  const auto middle = std::stable_partition(members.begin(), members.end(),
                                            [](const Member& member) { return member.state->numbers[1] == 1; });
  Members averaged(std::make_move_iterator(middle), std::make_move_iterator(members.end()));
  members.erase(middle, members.end());
  const double multiplier = gradient_multiplier();
  detail::with_flags(
      [&]<bool kDecay>() {
        detail::step_elementwise<ASGDRule<kDecay, false>>(options, multiplier, members);
        detail::step_elementwise<ASGDRule<kDecay, true>>(options, multiplier, averaged);
      },
      options.weight_decay != 0);
  for (Members* some : {&members, &averaged})
    for (Member& member : *some) advance(options, *member.parameter, *member.state);
}

}  // namespace levin::optim
