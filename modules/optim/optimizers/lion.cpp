#include <levin/modules/optim/optimizers/lion.h>
#include <levin/modules/optim/engine/elementwise.h>

#include <utility>

namespace levin::optim {
namespace {

struct LionRule {
  static constexpr std::array<size_t, 1> kState = {0};
  double lr, kept, beta1, beta2;

  LionRule(const LionOptions& options, const ParamState& /*state*/)
      : lr(options.lr), kept(1 - options.lr * options.weight_decay), beta1(options.betas[0]), beta2(options.betas[1]) {}

  template <class V>
  void operator()(V& parameter, V gradient, V* state) const {
    using namespace detail;
    parameter = add(mul_scalar(parameter, kept), sign(lerp(state[0], gradient, 1 - beta1)), -lr);
    state[0] = lerp(state[0], gradient, 1 - beta2);
  }
};

}  // namespace

Lion::Lion(std::vector<at::Tensor> parameters, LionOptions options)
    : Lion(detail::one_group(std::move(parameters)), std::move(options)) {}
Lion::Lion(ParamGroups groups, LionOptions options) : OptimizerOf("Lion", groups, std::move(options)) {}

StateNames Lion::state_names() const { return {.tensors = {"exp_avg"}}; }

ParamState Lion::make_state(const LionOptions& /*options*/, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter)});
}

void Lion::update_group(const LionOptions& options, Members& members) {
  detail::step_elementwise<LionRule>(options, gradient_multiplier(), members);
}

}  // namespace levin::optim
