#include <levin/modules/optim/optimizers/rprop.h>
#include <ATen/ops/full_like.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/elementwise.h>

#include <utility>

namespace levin::optim {
namespace {

struct RpropRule {
  static constexpr std::array<size_t, 2> kState = {0, 1};
  double smaller, larger, least, most;

  RpropRule(const RpropOptions& options, const ParamState& /*state*/)
      : smaller(options.etas[0]), larger(options.etas[1]), least(options.step_sizes[0]), most(options.step_sizes[1]) {}

  template <class V>
  void operator()(V& parameter, V gradient, V* state) const {
    using namespace detail;
    const V agreement = mul(gradient, state[0]);
    state[1] = clamp(mul(state[1], by_sign(agreement, larger, 1, smaller)), least, most);
    gradient = mul(gradient, by_sign(agreement, 1, 1, 0));
    parameter = addcmul(parameter, sign(gradient), state[1], -1);
    state[0] = gradient;
  }
};

}  // namespace

void check_more(const RpropOptions& options, const std::string& path) {
  if (options.etas.size() != 2 || options.etas[0] >= 1 || options.etas[1] <= 1)
    throw UsageError(path, ".etas: expected two factors, one below and one above 1");
  if (options.step_sizes.size() != 2 || options.step_sizes[0] > options.step_sizes[1])
    throw UsageError(path, ".step_sizes: expected two steps, the smallest and the largest");
}

Rprop::Rprop(std::vector<at::Tensor> parameters, RpropOptions options)
    : Rprop(detail::one_group(std::move(parameters)), std::move(options)) {}
Rprop::Rprop(ParamGroups groups, RpropOptions options) : OptimizerOf("Rprop", groups, std::move(options)) {}

StateNames Rprop::state_names() const { return {.tensors = {"prev", "step_size"}}; }

ParamState Rprop::make_state(const RpropOptions& options, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter), at::full_like(*member.parameter, options.lr)});
}

void Rprop::update_group(const RpropOptions& options, Members& members) {
  detail::step_elementwise<RpropRule>(options, gradient_multiplier(), members);
}

}  // namespace levin::optim
