#include <levin/modules/optim/optimizers/schedule_free_adamw.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/elementwise.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace levin::optim {
namespace {

constexpr size_t kZ = 1;            // of the tensors
constexpr size_t kLargestRate = 0;  // of the numbers
constexpr size_t kWeightSum = 1;

double rate_of_step(const ScheduleFreeAdamWOptions& options, int64_t step) {
  if (step > options.warmup_steps) return options.lr;
  return options.lr * (static_cast<double>(step) / static_cast<double>(options.warmup_steps));
}

double weight_of_step(const ScheduleFreeAdamWOptions& options, const ParamState& state) {
  return std::pow(static_cast<double>(state.step), options.r) *
         std::pow(state.numbers[kLargestRate], options.weight_lr_power);
}

template <bool kDecay>
struct ScheduleFreeRule {
  static constexpr std::array<size_t, 2> kState = {0, kZ};
  static constexpr bool kRooted = true;
  double beta2, correction, eps, weight_decay, share, rate_of_y, rate;

  ScheduleFreeRule(const ScheduleFreeAdamWOptions& options, const ParamState& state)
      : beta2(options.betas[1]),
        correction(1 - std::pow(beta2, static_cast<double>(state.step))),
        eps(options.eps),
        weight_decay(options.weight_decay),
        share(state.numbers[kWeightSum] == 0 ? 0 : weight_of_step(options, state) / state.numbers[kWeightSum]),
        rate_of_y(rate_of_step(options, state.step) * (options.betas[0] * (1 - share) - 1)),
        rate(rate_of_step(options, state.step)) {}

  template <class V>
  V before(const V& /*parameter*/, V gradient, V* state) const {
    state[0] = detail::decay_and_addcmul(state[0], beta2, gradient, gradient, 1 - beta2);
    return detail::div_scalar(state[0], correction);
  }
  template <class V>
  void after(V& parameter, const V& gradient, V* state, const V& root) const {
    using namespace detail;
    const V step = with_l2<kDecay>(div(gradient, add_scalar(root, eps)), parameter, weight_decay);
    parameter = add(lerp(parameter, state[1], share), step, rate_of_y);
    state[1] = add(state[1], step, -rate);
  }
};

}  // namespace

void check_more(const ScheduleFreeAdamWOptions& options, const std::string& path) {
  if (!(options.betas[0] > 0)) throw UsageError(path, ".betas[0]: expected a number above 0, got ", options.betas[0]);
}

ScheduleFreeAdamW::ScheduleFreeAdamW(std::vector<at::Tensor> parameters, ScheduleFreeAdamWOptions options)
    : ScheduleFreeAdamW(detail::one_group(std::move(parameters)), std::move(options)) {}
ScheduleFreeAdamW::ScheduleFreeAdamW(ParamGroups groups, ScheduleFreeAdamWOptions options)
    : OptimizerOf("ScheduleFreeAdamW", groups, std::move(options)) {}

StateNames ScheduleFreeAdamW::state_names() const {
  return {.tensors = {"exp_avg_sq", "z"}, .numbers = {"lr_max", "weight_sum"}};
}

ParamState ScheduleFreeAdamW::make_state(const ScheduleFreeAdamWOptions& /*options*/, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter), member.parameter->detach().clone()}, {0, 0});
}

void ScheduleFreeAdamW::update_group(const ScheduleFreeAdamWOptions& options, Members& members) {
  if (uses_averages()) throw UsageError("ScheduleFreeAdamW: call use_trained() before the next step");
  for (Member& member : members) {
    ParamState& state = *member.state;
    state.numbers[kLargestRate] = std::max(state.numbers[kLargestRate], rate_of_step(options, state.step));
    state.numbers[kWeightSum] += weight_of_step(options, state);
  }
  detail::with_flags(
      [&]<bool kDecay>() {
        detail::step_elementwise<ScheduleFreeRule<kDecay>>(options, gradient_multiplier(), members);
      },
      options.weight_decay != 0);
}

void ScheduleFreeAdamW::use_averages() {
  if (uses_averages()) return;
  const at::NoGradGuard no_grad;
  for (const torch::optim::OptimizerParamGroup& group : param_groups()) {
    const double beta1 =
        optim::options_of<Options>(const_cast<torch::optim::OptimizerParamGroup&>(group).options()).betas[0];
    for (const at::Tensor& parameter : group.params()) {
      const auto found = state().find(parameter.unsafeGetTensorImpl());
      if (found == state().end()) continue;
      kept_.push_back({parameter, parameter.detach().clone()});
      const at::Tensor& z = static_cast<const ParamState&>(*found->second).tensors[kZ];
      at::Tensor(parameter).lerp_(z, 1 - 1 / beta1);
    }
  }
}

void ScheduleFreeAdamW::use_trained() {
  const at::NoGradGuard no_grad;
  for (const Kept& one : kept_) at::Tensor(one.parameter).copy_(one.trained);
  kept_.clear();
}

}  // namespace levin::optim
