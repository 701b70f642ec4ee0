#include <levin/modules/optim/optimizers/adagrad.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/one_pass.h>

#include <utility>

namespace levin::optim {
namespace {

double rate(const AdagradOptions& options, const ParamState& state) {
  const double steps = static_cast<double>(state.step) - 1;
  return options.lr /
         (options.fused ? detail::kernel_multiply_add(1, steps, options.lr_decay) : 1 + steps * options.lr_decay);
}

template <bool kDecay>
struct AdagradRule {
  static constexpr std::array<size_t, 1> kState = {0};
  static constexpr bool kRooted = true;
  double lr, weight_decay, eps;

  AdagradRule(const AdagradOptions& options, const ParamState& state)
      : lr(rate(options, state)), weight_decay(options.weight_decay), eps(options.eps) {}

  template <class V>
  V before(const V& parameter, V gradient, V* state) const {
    gradient = detail::with_l2<kDecay>(gradient, parameter, weight_decay);
    state[0] = detail::addcmul(state[0], gradient, gradient, 1);
    return state[0];
  }
  template <class V>
  void after(V& parameter, const V& gradient, const V* /*state*/, const V& root) const {
    parameter = detail::addcdiv(parameter, detail::with_l2<kDecay>(gradient, parameter, weight_decay),
                                detail::add_scalar(root, eps), -lr);
  }
};

}  // namespace

Adagrad::Adagrad(std::vector<at::Tensor> parameters, AdagradOptions options)
    : Adagrad(detail::one_group(std::move(parameters)), std::move(options)) {}
Adagrad::Adagrad(ParamGroups groups, AdagradOptions options) : OptimizerOf("Adagrad", groups, std::move(options)) {}

StateNames Adagrad::state_names() const { return {.tensors = {"sum"}}; }

ParamState Adagrad::make_state(const AdagradOptions& options, const Member& member) const {
  return detail::state_of(
      {at::full_like(*member.parameter, options.initial_accumulator_value, at::MemoryFormat::Preserve)});
}

void Adagrad::update_group(const AdagradOptions& options, Members& members) {
  detail::with_flags(
      [&]<bool kDecay>() {
        using Rule = AdagradRule<kDecay>;
        if (!options.fused) return detail::step_elementwise<Rule>(options, gradient_multiplier(), members);
        const AdagradOptions typical = {.lr = 0.1, .lr_decay = 0.01, .weight_decay = kDecay ? 0.01 : 0, .fused = true};
        detail::step_in_one_pass<Rule>(options, gradient_multiplier(), members, typical, /*numbers=*/{},
                                       &detail::fused_adagrad);
      },
      options.weight_decay != 0);
}

void Adagrad::update_one_sparse(const AdagradOptions& options, Member& member) {
  if (options.weight_decay != 0)
    throw UsageError("Adagrad: weight_decay does not go with sparse gradients; set it to 0 in their group");
  const at::Tensor indices = member.gradient._indices(), values = member.gradient._values();
  const auto sparse = [&](const at::Tensor& of) {
    return at::sparse_coo_tensor(indices, of, member.gradient.sizes(), of.options().layout(at::kSparse));
  };
  at::Tensor& sum = member.state->tensors[0];
  sum.add_(sparse(values.pow(2)));
  const at::Tensor root = sum.sparse_mask(member.gradient)._values().sqrt().add_(options.eps);
  member.parameter->add_(sparse(values.div(root)), -rate(options, *member.state));
}

}  // namespace levin::optim
