#include <levin/modules/optim/optimizers/sgd.h>
#include <ATen/ops/empty_like.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/elementwise.h>
#include <levin/modules/optim/engine/fused.h>
#include <levin/modules/optim/engine/one_pass.h>

#include <utility>

namespace levin::optim {
namespace {

/// The momentum buffer starts as the first gradient; the state's only number tells whether the buffer was initialized.
template <bool kDecay, bool kMomentum, bool kNesterov>
struct SGDRule {
  static constexpr std::array<size_t, kMomentum ? 1 : 0> kState = {};
  double lr, weight_decay, momentum, added;
  bool first;

  SGDRule(const SGDOptions& options, const ParamState& state)
      : lr(options.lr),
        weight_decay(options.weight_decay),
        momentum(options.momentum),
        added(1 - options.dampening),
        first(state.numbers[0] == 0) {}

  template <class V>
  void operator()(V& parameter, V gradient, V* state) const {
    using namespace detail;
    gradient = with_l2<kDecay>(gradient, parameter, weight_decay);
    if constexpr (kMomentum) {
      state[0] = first ? gradient : decay_and_add(state[0], momentum, gradient, added);
      gradient = kNesterov ? add(gradient, state[0], momentum) : state[0];
    }
    parameter = add(parameter, gradient, -lr);
  }
};

}  // namespace

void check_more(const SGDOptions& options, const std::string& path) {
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0))
    throw UsageError(path, ".nesterov: needs a momentum above 0 and no dampening, got momentum ", options.momentum,
                     " and dampening ", options.dampening);
}

SGD::SGD(std::vector<at::Tensor> parameters, SGDOptions options)
    : SGD(detail::one_group(std::move(parameters)), std::move(options)) {}
SGD::SGD(ParamGroups groups, SGDOptions options) : OptimizerOf("SGD", groups, std::move(options)) {}

StateNames SGD::state_names() const { return {.tensors = {"momentum_buffer"}, .has_step = false}; }

ParamState SGD::make_state(const SGDOptions& /*options*/, const Member& /*member*/) const {
  return detail::state_of({at::Tensor()}, {0});
}

void SGD::update_group(const SGDOptions& options, Members& members) {
  const bool with_momentum = options.momentum != 0;
  for (Member& member : members) {
    at::Tensor& buffer = member.state->tensors[0];
    member.state->numbers[0] = buffer.defined();
    if (with_momentum && !buffer.defined()) buffer = at::empty_like(*member.parameter, at::MemoryFormat::Preserve);
  }
  detail::FusedLists lists = detail::fused_lists(members, with_momentum ? 1 : 0, captured_numbers() != nullptr);
  if (!lists.parameters.empty()) {
    detail::fused_sgd(options, gradient_multiplier(), std::move(lists), captured_numbers());
    return;
  }
  detail::with_flags(
      [&]<bool kDecay, bool kMomentum, bool kNesterov>() {
        using Rule = SGDRule<kDecay, kMomentum, kNesterov>;
        if (!options.fused) return detail::step_elementwise<Rule>(options, gradient_multiplier(), members);
        const SGDOptions typical = {.lr = 0.1,
                                    .momentum = kMomentum ? 0.9 : 0,
                                    .dampening = kNesterov ? 0 : 0.1,
                                    .weight_decay = kDecay ? 0.01 : 0,
                                    .nesterov = kNesterov};
        detail::step_in_one_pass<Rule>(
            options, gradient_multiplier(), members, typical, /*numbers=*/{1},
            [](auto&&... arguments) { detail::fused_sgd(std::forward<decltype(arguments)>(arguments)...); });
      },
      options.weight_decay != 0, with_momentum, options.nesterov);
}

void SGD::update_one_sparse(const SGDOptions& options, Member& member) {
  if (options.weight_decay != 0)
    throw UsageError("SGD: weight_decay does not go with sparse gradients; set it to 0 in their group");
  at::Tensor step = member.gradient;
  if (options.momentum != 0) {
    at::Tensor& buffer = member.state->tensors[0];
    buffer = buffer.defined() ? buffer.mul(options.momentum).add(step, 1 - options.dampening) : step.clone();
    step = options.nesterov ? step.add(buffer, options.momentum) : buffer;
  }
  member.parameter->add_(step, -options.lr);
}

}  // namespace levin::optim
