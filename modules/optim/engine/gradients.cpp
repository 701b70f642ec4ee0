#include <levin/modules/optim/engine/gradients.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/gradient_pass.h>
#include <levin/modules/optim/engine/parameter_groups.h>

#include <algorithm>
#include <unordered_set>

namespace levin::optim {
namespace {

/// Gradients of one device and dtype, which one call can process.
using Group = std::vector<at::Tensor>;

/// Returns the tensor for arithmetic: a dense gradient itself, or the values of a sparse one.
at::Tensor values_of(const at::Tensor& parameter) {
  at::Tensor& gradient = parameter.mutable_grad();
  if (gradient.layout() == at::kStrided) return gradient;
  if (gradient.layout() != at::kSparse)
    throw UsageError("a gradient of layout ", gradient.layout(), " cannot be scaled or clipped; use dense or COO ones");
  // Entries of the same index must be summed before a norm or a clamp.
  if (!gradient.is_coalesced()) gradient = gradient.coalesce();
  return gradient._values();
}

/// Returns the tensor on `device`; a host sync only if `device` is the CPU.
at::Tensor moved(const at::Tensor& tensor, c10::Device device) {
  return tensor.to(device, /*non_blocking=*/!device.is_cpu());
}

void add(std::vector<Group>& groups, at::Tensor gradient, size_t first) {
  for (size_t i = first; i < groups.size(); ++i) {
    const at::Tensor& other = groups[i].front();
    if (other.device() == gradient.device() && other.scalar_type() == gradient.scalar_type()) {
      groups[i].push_back(std::move(gradient));
      return;
    }
  }
  groups.push_back({std::move(gradient)});
}

std::vector<Group> groups_of(const std::vector<GradientBlock>& blocks) {
  std::vector<Group> groups;
  for (const GradientBlock& block : blocks) {
    const size_t first = groups.size();
    for (const at::Tensor& parameter : block.parameters)
      if (parameter.grad().defined()) add(groups, values_of(parameter), first);
  }
  return groups;
}

c10::Device first_device(const std::vector<GradientBlock>& blocks) {
  for (const GradientBlock& block : blocks)
    for (const at::Tensor& parameter : block.parameters) return parameter.device();
  return c10::kCPU;
}

at::Tensor norm_of(const std::vector<Group>& groups, c10::Device device_without_gradients) {
  if (groups.empty()) return at::zeros({}, device_without_gradients);
  const c10::Device device = groups.front().front().device();
  std::vector<at::Tensor> norms;
  for (const Group& group : groups)
    for (const at::Tensor& norm : at::_foreach_norm(group, 2)) norms.push_back(moved(norm, device));
  return at::linalg_vector_norm(at::stack(norms), 2);
}

/// Multiplies the gradients in one pass over memory; returns 1 if a gradient was not finite, else 0.
at::Tensor multiply_and_check(const std::vector<Group>& groups, const at::Tensor& multiplier, c10::Device device) {
  const at::Tensor found = at::zeros({1}, at::TensorOptions(at::kFloat).device(device));
  for (const Group& group : groups) {
    const c10::Device here = group.front().device();
    at::Tensor found_here = here == device ? found : at::zeros({1}, found.options().device(here));
    at::_amp_foreach_non_finite_check_and_unscale_(group, found_here, moved(multiplier, here).to(at::kFloat));
    if (here != device) found.add_(moved(found_here, device)).clamp_max_(1);
  }
  return found;
}

void multiply(const std::vector<Group>& groups, const at::Tensor& multiplier) {
  for (const Group& group : groups) at::_foreach_mul_(group, moved(multiplier, group.front().device()).reshape({}));
}

}  // namespace

void check_unique(const std::vector<at::Tensor>& parameters) {
  std::unordered_set<const void*> seen;
  for (const at::Tensor& parameter : parameters)
    if (!seen.insert(parameter.unsafeGetTensorImpl()).second)
      throw UsageError("a parameter of shape ", parameter.sizes(), " is given twice; give each parameter once");
}

Gradients::Gradients(std::vector<at::Tensor> parameters) : blocks_{{std::move(parameters)}} {
  check_unique(blocks_.front().parameters);
}

Gradients Gradients::of_checked(std::vector<at::Tensor> parameters) {
  Gradients gradients;
  gradients.blocks_.push_back({std::move(parameters)});
  return gradients;
}

/// Compares in the order of the blocks, which is the order of the groups unless a layout was set.
bool Gradients::has_parameters_of(const torch::optim::Optimizer& optimizer) const {
  size_t block = 0, next = 0;
  for (const torch::optim::OptimizerParamGroup& group : optimizer.param_groups())
    for (const at::Tensor& parameter : group.params()) {
      while (block < blocks_.size() && next == blocks_[block].parameters.size()) ++block, next = 0;
      if (block == blocks_.size() || !blocks_[block].parameters[next++].is_same(parameter)) return false;
    }
  while (block < blocks_.size() && next == blocks_[block].parameters.size()) ++block, next = 0;
  return block == blocks_.size();
}

bool Gradients::follow(const torch::optim::Optimizer& optimizer) {
  if (has_parameters_of(optimizer)) return false;
  *this = Gradients(detail::parameters_of(optimizer));
  return true;
}

void Gradients::set_layout(std::vector<GradientBlock> blocks) {
  std::unordered_set<const void*> left;
  for (const GradientBlock& block : blocks_)
    for (const at::Tensor& parameter : block.parameters) left.insert(parameter.unsafeGetTensorImpl());
  for (const GradientBlock& block : blocks)
    for (const at::Tensor& parameter : block.parameters)
      if (left.erase(parameter.unsafeGetTensorImpl()) == 0)
        throw UsageError("a parameter of shape ", parameter.sizes(),
                         " stands in two blocks of gradients, or is not one of the optimizer's");
  if (!left.empty()) throw UsageError("the blocks of gradients lack ", left.size(), " of the optimizer's parameters");
  blocks_ = std::move(blocks);
}

void Gradients::zero() {
  for (const GradientBlock& block : blocks_)
    for (const at::Tensor& parameter : block.parameters) parameter.mutable_grad().reset();
}

/// Returns all gradients if one pass over them is possible; empty otherwise.
std::vector<at::Tensor> Gradients::in_one_pass() const {
  std::vector<at::Tensor> gradients;
  for (const GradientBlock& block : blocks_)
    for (const at::Tensor& parameter : block.parameters)
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  if (!levin::detail::can_pass_over(gradients)) gradients.clear();
  return gradients;
}

Gradients::PassResult Gradients::pass(double multiplier, bool want_norm, bool want_found_inf) {
  if (multiplier == 1.0 && !want_norm && !want_found_inf) return {};
  const at::NoGradGuard no_grad;
  if (const std::vector<at::Tensor> gradients = in_one_pass(); !gradients.empty()) {
    const levin::detail::GradientPass found = levin::detail::pass_over(gradients, multiplier);
    PassResult result;
    if (want_norm) result.norm = at::linalg_vector_norm(found.norms, 2);
    if (want_found_inf) result.found_inf = at::full({1}, found.finite ? 0.0 : 1.0, at::TensorOptions(at::kFloat));
    return result;
  }
  if (want_found_inf)
    return pass(at::full({}, multiplier, at::TensorOptions(at::kFloat).device(first_device(blocks_))), want_norm, true);
  const std::vector<Group> groups = groups_of(blocks_);
  if (multiplier != 1.0)
    for (const Group& group : groups) at::_foreach_mul_(group, multiplier);
  PassResult result;
  if (want_norm) result.norm = norm_of(groups, first_device(blocks_));
  return result;
}

Gradients::PassResult Gradients::pass(const at::Tensor& multiplier, bool want_norm, bool want_found_inf) {
  const at::NoGradGuard no_grad;
  if (multiplier.is_cpu() && multiplier.scalar_type() == at::kFloat && !in_one_pass().empty())
    return pass(*multiplier.const_data_ptr<float>(), want_norm, want_found_inf);
  const std::vector<Group> groups = groups_of(blocks_);
  const c10::Device device = first_device(blocks_);
  PassResult result;
  if (want_found_inf)
    result.found_inf = multiply_and_check(groups, multiplier, device);
  else
    multiply(groups, multiplier);
  if (want_norm) result.norm = norm_of(groups, device);
  return result;
}

namespace {

/// Divides, as LibTorch's clip_grad_norm_ does; Python multiplies by the reciprocal, so the last bit may differ.
template <class T>
double coefficient_of(const at::Tensor& norm, double max_norm) {
  return std::min(static_cast<T>(max_norm) / (*norm.const_data_ptr<T>() + static_cast<T>(1e-6)), T(1));
}

}  // namespace

std::optional<double> clip_coefficient(const at::Tensor& norm, double max_norm) {
  if (norm.is_cpu() && norm.scalar_type() == at::kFloat) return coefficient_of<float>(norm, max_norm);
  if (norm.is_cpu() && norm.scalar_type() == at::kDouble) return coefficient_of<double>(norm, max_norm);
  return {};
}

void Gradients::clip_norm(const at::Tensor& norm, double max_norm) {
  const at::NoGradGuard no_grad;
  if (const std::optional<double> known = clip_coefficient(norm, max_norm)) {
    if (*known == 1) return;
    for (const Group& group : groups_of(blocks_)) at::_foreach_mul_(group, *known);
    return;
  }
  // Multiplies even if the coefficient is 1, since reading it would be a host sync.
  multiply(groups_of(blocks_), at::full_like(norm, max_norm).div_(norm.add(1e-6)).clamp_max_(1.0));
}

void Gradients::clip_value(double max_value) {
  const at::NoGradGuard no_grad;
  for (const Group& group : groups_of(blocks_)) {
    at::_foreach_clamp_min_(group, -max_value);
    at::_foreach_clamp_max_(group, max_value);
  }
}

}  // namespace levin::optim
