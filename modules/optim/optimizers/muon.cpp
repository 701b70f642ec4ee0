#include <levin/modules/optim/optimizers/muon.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/adam_rule.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin::optim {
namespace {

constexpr size_t kMomentum = 3;  // behind AdamW's tensors

const MuonOptions* of_muon(const torch::optim::OptimizerOptions& options) {
  const auto* const group = dynamic_cast<const GroupOptions<MuonOptions>*>(&options);
  return group == nullptr ? nullptr : &group->options;
}

bool is_matrix(const at::Tensor& parameter) { return parameter.defined() && parameter.dim() == 2; }

void check_matrices(const std::vector<at::Tensor>& parameters) {
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.defined()) continue;
    if (parameter.is_complex()) throw UsageError("Muon does not take complex parameters; use another optimizer");
    if (!is_matrix(parameter))
      throw UsageError("Muon steps matrices, and a parameter of its group has the shape ", parameter.sizes(),
                       "; give it in a group with levin::optim::AdamWOptions");
  }
}

/// Divides the groups without options into matrices and the rest.
ParamGroups divided(const ParamGroups& groups, const MuonOptions& options) {
  ParamGroups all;
  for (const torch::optim::OptimizerParamGroup& group : groups) {
    if (group.has_options()) {
      if (of_muon(group.options()) != nullptr) check_matrices(group.params());
      all.push_back(group);
      continue;
    }
    std::vector<at::Tensor> matrices, rest;
    for (const at::Tensor& parameter : group.params()) (is_matrix(parameter) ? matrices : rest).push_back(parameter);
    check_matrices(matrices);
    if (!matrices.empty() || rest.empty()) all.push_back(param_group(matrices, options));
    if (!rest.empty()) all.push_back(param_group(rest, options.others));
  }
  return all;
}

/// Returns a matrix with the singular vectors of `update` and singular values near 1, in bfloat16.
at::Tensor orthogonalized(const at::Tensor& update, const MuonOptions& options) {
  const double a = options.ns_coefficients[0], b = options.ns_coefficients[1], c = options.ns_coefficients[2];
  const bool is_tall = update.size(0) > update.size(1);
  at::Tensor x = update.to(at::kBFloat16, /*non_blocking=*/false, /*copy=*/true);
  if (is_tall) x = x.t();
  x.div_(at::linalg_vector_norm(x, 2).clamp_min(options.eps));
  for (int64_t i = 0; i < options.ns_steps; ++i) {
    const at::Tensor gram = at::matmul(x, x.t());
    x = at::addmm(x, at::addmm(gram, gram, gram, b, c), x, a);
  }
  return is_tall ? x.t() : x;
}

double rate_of_shape(const MuonOptions& options, const at::Tensor& matrix) {
  const auto out = static_cast<double>(matrix.size(0)), in = static_cast<double>(matrix.size(1));
  const bool is_original = options.adjust_lr_fn == MuonRate::Original;
  return options.lr * (is_original ? std::sqrt(std::max(1.0, out / in)) : 0.2 * std::sqrt(std::max(out, in)));
}

}  // namespace

void to_python_names(Json& values, const MuonOptions& /*options*/) { values.erase("others"); }

void check_more(const MuonOptions& options, const std::string& path) {
  if (options.ns_coefficients.size() != 3)
    throw UsageError(path, ".ns_coefficients: expected three numbers, got ", options.ns_coefficients.size());
  if (options.others.betas.size() != 2)
    throw UsageError(path, ".others.betas: expected two numbers, got ", options.others.betas.size());
}

Muon::Muon(std::vector<at::Tensor> parameters, MuonOptions options)
    : Muon(detail::one_group(std::move(parameters)), std::move(options)) {}
Muon::Muon(ParamGroups groups, MuonOptions options)
    : Optimizer("Muon", divided(groups, options), std::make_unique<GroupOptions<MuonOptions>>(options)) {}

void Muon::step_by_others(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> moved;
  for (torch::optim::OptimizerParamGroup& group : param_groups()) {
    if (of_muon(group.options()) == nullptr) continue;
    std::erase_if(group.params(), [&](const at::Tensor& held) {
      const bool moves = std::ranges::any_of(parameters, [&](const at::Tensor& one) { return one.is_same(held); });
      if (moves) moved.push_back(held);
      return moves;
    });
  }
  if (moved.empty()) return;
  ParamGroups& groups = param_groups();
  if (of_muon(groups.back().options()) == nullptr) {
    std::vector<at::Tensor>& last = groups.back().params();
    last.insert(last.begin(), moved.begin(), moved.end());
  } else {
    add_param_group(param_group(moved, of_muon(defaults())->others));
  }
  std::erase_if(groups, [](const torch::optim::OptimizerParamGroup& group) { return group.params().empty(); });
}

StateNames Muon::state_names() const {
  StateNames names = detail::adam_state_names();
  names.tensors.push_back("momentum_buffer");
  return names;
}

ParamState Muon::first_state(const torch::optim::OptimizerOptions& options, const Member& member) const {
  if (of_muon(options) != nullptr) {
    if (!in_parts_) check_matrices({*member.parameter});  // also those of groups that were added
    return detail::state_of({{}, {}, {}, detail::zeros_for(*member.parameter)});
  }
  ParamState state =
      detail::adam_state(*member.parameter, static_cast<const GroupOptions<AdamWOptions>&>(options).options.amsgrad);
  state.tensors.emplace_back();
  return state;
}

void Muon::update(const torch::optim::OptimizerOptions& given, Members& members) {
  if (of_muon(given) == nullptr) {
    const AdamWOptions& others = static_cast<const GroupOptions<AdamWOptions>&>(given).options;
    detail::step_adam(detail::adam_settings(others, /*decoupled=*/true), gradient_multiplier(), captured_numbers(),
                      members);
    return;
  }
  const MuonOptions& options = *of_muon(given);
  for (Member& member : members) {
    const at::Tensor& parameter = *member.parameter;
    const at::Tensor gradient = scaled_gradient(member);
    at::Tensor& average = member.state->tensors[kMomentum];
    average.lerp_(gradient, 1 - options.momentum);
    const at::Tensor update = options.nesterov ? gradient.lerp(average, options.momentum) : average;
    parameter.mul_(1 - options.lr * options.weight_decay);
    if (in_parts_)
      updates_.push_back({parameter, update, options});
    else
      parameter.add_(orthogonalized(update, options), -rate_of_shape(options, parameter));
  }
}

bool Muon::has_options(const torch::optim::OptimizerOptions& options) { return of_muon(options) != nullptr; }

void Muon::add_whole_update(const PartUpdate& of_part, const at::Tensor& update, int64_t begin) {
  check_matrices({update});
  at::Tensor whole = orthogonalized(update, of_part.options);
  if (whole.strides() != update.strides())
    whole = at::empty_strided(update.sizes(), update.strides(), whole.options()).copy_(whole);
  at::Tensor(of_part.part)
      .add_(whole.as_strided(of_part.part.sizes(), {1}, whole.storage_offset() + begin),
            -rate_of_shape(of_part.options, update));
}

}  // namespace levin::optim
