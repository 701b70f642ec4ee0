#include <levin/modules/optim/optimizer.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/gradients.h>
#include <levin/modules/optim/engine/repeats_closure.h>

#include <typeinfo>
#include <utility>

namespace levin::optim {
namespace {

AnyGroupOptions& options_of_group(const torch::optim::OptimizerParamGroup& group) {
  return static_cast<AnyGroupOptions&>(const_cast<torch::optim::OptimizerParamGroup&>(group).options());
}

/// Returns `defaults` if groups and defaults are valid.
std::unique_ptr<torch::optim::OptimizerOptions> checked(const std::string& name, const ParamGroups& groups,
                                                        std::unique_ptr<torch::optim::OptimizerOptions> defaults) {
  detail::check_parameters(name.c_str(), groups);
  const torch::optim::OptimizerOptions& expected = *defaults;
  static_cast<const AnyGroupOptions&>(expected).check(name);
  const std::unique_ptr<AnyGroupOptions> others = static_cast<const AnyGroupOptions&>(expected).others();
  const auto fits = [&](const torch::optim::OptimizerOptions& given) {
    if (typeid(given) == typeid(expected)) return true;
    const torch::optim::OptimizerOptions* const other = others.get();
    return other != nullptr && typeid(given) == typeid(*other);
  };
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].has_options()) continue;
    const std::string path = detail::group_path(name.c_str(), i);
    const torch::optim::OptimizerOptions& given = groups[i].options();
    if (!fits(given))
      throw UsageError(path, ": the options are not ", name, "Options; give levin::optim::param_group(parameters, ",
                       name, "Options{...})");
    options_of_group(groups[i]).check(path);
  }
  return defaults;
}

/// Copies a group's own options: LibTorch merges them with the defaults only for its own classes.
void keep_options(const torch::optim::OptimizerParamGroup& given, torch::optim::OptimizerParamGroup& held) {
  if (given.has_options()) held.set_options(given.options().clone());
}

}  // namespace

Optimizer::Optimizer(std::string name, const ParamGroups& groups,
                     std::unique_ptr<torch::optim::OptimizerOptions> defaults)
    : torch::optim::Optimizer(groups, checked(name, groups, std::move(defaults))), name_(std::move(name)) {
  for (size_t i = 0; i < groups.size(); ++i) keep_options(groups[i], param_groups()[i]);
}

Optimizer::Optimizer(Optimizer&& other, const detail::RowLock& lock)
    : torch::optim::Optimizer(std::move(other)),
      name_(std::move(other.name_)),
      gradient_multiplier_(other.gradient_multiplier_),
      captured_(std::move(other.captured_)),
      parts_(std::move(other.parts_)),
      rows_(*this, lock) {}

void Optimizer::add_param_group(const torch::optim::OptimizerParamGroup& group) {
  ParamGroups all = param_groups();
  all.push_back(group);
  checked(name_, all, defaults().clone());
  const detail::RowLock lock;
  torch::optim::Optimizer::add_param_group(group);
  keep_options(group, param_groups().back());
}

void add_param_group(torch::optim::Optimizer& optimizer, const torch::optim::OptimizerParamGroup& group) {
  if (auto* const ours = dynamic_cast<Optimizer*>(&optimizer))
    ours->add_param_group(group);
  else if (detail::repeats_closure(optimizer))
    throw UsageError("LBFGS steps one parameter group, so that none can be added; use another optimizer");
  else
    optimizer.add_param_group(group);
}

at::Tensor Optimizer::step(LossClosure closure) {
  at::Tensor loss;
  if (closure) {
    const at::AutoGradMode with_gradients(true);
    loss = closure();
  }
  const at::NoGradGuard no_grad;
  const double multiplier = std::exchange(gradient_multiplier_, 1);
  for (const torch::optim::OptimizerParamGroup& group : param_groups()) {
    gradient_multiplier_ = options_of_group(group).maximize() ? -multiplier : multiplier;
    group_at_hand_ = static_cast<size_t>(&group - param_groups().data());
    step_group(group);
  }
  gradient_multiplier_ = 1;
  return loss;
}

at::Tensor Optimizer::clip_grad_norm(double max_norm) {
  Gradients gradients = Gradients::of_checked(detail::parameters_of(*this));
  at::Tensor norm = gradients.pass(1.0, /*want_norm=*/true).norm;
  // The norm of the gradients as the next step sees them, which may already be clipped.
  if (gradient_multiplier_ != 1) norm = norm * gradient_multiplier_;
  if (const std::optional<double> known = clip_coefficient(norm, max_norm))
    set_gradient_multiplier(gradient_multiplier_ * *known);
  else
    gradients.clip_norm(norm, max_norm);
  return norm;
}

void Optimizer::set_parts(const std::vector<Part>& parts) {
  parts_.clear();
  for (const Part& part : parts) parts_.emplace(part.values.unsafeGetTensorImpl(), part);
}

void Optimizer::zero_grad(bool set_to_none) {
  if (!set_to_none) return torch::optim::Optimizer::zero_grad(false);
  for (torch::optim::OptimizerParamGroup& group : param_groups())
    for (at::Tensor& parameter : group.params()) parameter.mutable_grad().reset();
}

/// The arithmetic runs over memory and assumes equal sizes.
void Optimizer::check_shapes(const Member& member) const {
  const at::IntArrayRef shape = member.parameter->sizes();
  for (const at::Tensor& tensor : member.state->tensors)
    if (tensor.defined() && tensor.dim() > 0 && tensor.sizes() != shape)
      throw UsageError(name_, ": a parameter has the shape ", shape, ", and the state that the optimizer keeps of it ",
                       tensor.sizes(),
                       "; drop it after set_data: optimizer.state().erase(parameter.unsafeGetTensorImpl())");
}

const torch::optim::OptimizerParamGroup* Optimizer::group_of(const at::Tensor& parameter) const {
  for (const torch::optim::OptimizerParamGroup& group : param_groups())
    for (const at::Tensor& held : group.params())
      if (held.is_same(parameter)) return &group;
  return nullptr;
}

void Optimizer::prepare(const at::Tensor& parameter, const detail::RowChange& change, detail::RowCommit& commit) {
  commit.has_optimizer = true;
  const auto found = state().find(parameter.unsafeGetTensorImpl());
  if (found == state().end()) return;
  auto next = std::make_unique<ParamState>(static_cast<const ParamState&>(*found->second));
  ParamState first;
  if (change.needs_first_state()) {
    const at::Tensor rows = change.values.to(parameter.options());
    first = state_before_steps(group_of(parameter)->options(), rows, rows);
  }
  first.tensors.resize(next->tensors.size());
  for (size_t i = 0; i < next->tensors.size(); ++i)
    if (has_rows(i, parameter) || change.kind == detail::RowChange::Kind::ReplaceAll)
      next->tensors[i] = change.of_state(next->tensors[i], first.tensors[i]);
  // std::function wants what can be copied.
  commit.actions.emplace_back([this, parameter, next = std::make_shared<std::unique_ptr<ParamState>>(std::move(next))] {
    state()[parameter.unsafeGetTensorImpl()] = std::move(*next);
  });
}

at::Tensor Optimizer::scaled_gradient(const Member& member) const {
  return gradient_multiplier_ == 1 ? member.gradient : member.gradient.mul(gradient_multiplier_);
}

void Optimizer::step_group(const torch::optim::OptimizerParamGroup& group) {
  const auto& options = options_of_group(group);
  Members members, sparse;
  members.reserve(group.params().size());
  for (const at::Tensor& parameter : group.params()) {
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    Member member{&parameter, gradient, nullptr};
    auto& held = state()[parameter.unsafeGetTensorImpl()];
    if (!held) held = std::make_unique<ParamState>(state_before_steps(options, parameter, gradient));
    member.state = static_cast<ParamState*>(held.get());
    if (is_elementwise()) check_shapes(member);
    if (!capturing_) ++member.state->step;
    if (!parts_.empty())
      if (const auto part = parts_.find(parameter.unsafeGetTensorImpl()); part != parts_.end()) {
        member.begin = part->second.begin;
        member.numel_of_whole = part->second.numel_of_whole;
      }
    (gradient.layout() == at::kStrided ? members : sparse).push_back(std::move(member));
  }
  if (!members.empty()) update_real(options, members);
  for (Member& member : sparse) {
    member.gradient = member.gradient.coalesce();
    member.gradient = scaled_gradient(member);
    update_sparse(options, member);
  }
}

void Optimizer::update_sparse(const torch::optim::OptimizerOptions& /*options*/, Member& member) {
  --member.state->step;
  throw UsageError(name_,
                   " does not take sparse gradients; use SGD or Adagrad, SparseAdam for embeddings alone, or make the "
                   "embedding dense");
}

}  // namespace levin::optim
