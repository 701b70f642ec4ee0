#include <levin/modules/optim/master_weights.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/optimizer_state.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <utility>

namespace levin::optim {

MasterWeights::MasterWeights(torch::optim::Optimizer& optimizer) : FoundByOptimizer(optimizer), optimizer_(optimizer) {
  const bool has_state = !optimizer.state().empty();
  const State state = has_state ? optimizer_state_dict(optimizer) : State();
  follow();
  if (has_state) load_optimizer_state_dict(optimizer, state);
}

MasterWeights::MasterWeights(MasterWeights&& other, const detail::RowLock& lock)
    : FoundByOptimizer(std::move(other)),
      optimizer_(other.optimizer_),
      pairs_(std::move(other.pairs_)),
      rows_(*this, lock) {}

void MasterWeights::for_each_copy(
    const std::function<void(const at::Tensor& parameter, const at::Tensor& copy)>& visit) const {
  for (const Pair& pair : pairs_) visit(pair.of_module, pair.copy);
}

bool MasterWeights::has_rows_of(const at::Tensor& parameter) const {
  return std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& one) { return one.of_module.is_same(parameter); });
}

void MasterWeights::prepare(const at::Tensor& parameter, const detail::RowChange& /*change*/,
                            detail::RowCommit& commit) {
  for (const Pair& pair : pairs_)
    if (pair.of_module.is_same(parameter)) commit.copies.push_back(pair.copy);
}

/// Replaces the 16-bit parameters in the groups by copies.
void MasterWeights::follow() {
  const detail::RowLock lock;
  for (auto& group : optimizer_.param_groups())
    for (at::Tensor& parameter : group.params()) {
      if (parameter.scalar_type() != at::kHalf && parameter.scalar_type() != at::kBFloat16) continue;
      const at::Tensor copy = parameter.detach().to(at::kFloat).requires_grad_(parameter.requires_grad());
      pairs_.push_back({std::exchange(parameter, copy), copy});
    }
}

void MasterWeights::zero_grad() {
  follow();
  for (Pair& pair : pairs_) {
    pair.of_module.mutable_grad().reset();
    pair.copy.mutable_grad().reset();
  }
}

void MasterWeights::take_gradients() {
  follow();
  for (Pair& pair : pairs_) {
    const at::Tensor& gradient = pair.of_module.grad();
    pair.copy.mutable_grad() = gradient.defined() ? gradient.to(at::kFloat) : at::Tensor();
  }
}

void MasterWeights::write_back() {
  const at::NoGradGuard no_grad;
  for (Pair& pair : pairs_) pair.of_module.copy_(pair.copy, /*non_blocking=*/true);
}

void MasterWeights::read_module() {
  follow();
  const at::NoGradGuard no_grad;
  for (Pair& pair : pairs_) pair.copy.copy_(pair.of_module, /*non_blocking=*/true);
}

State MasterWeights::state_dict() const {
  State state = State::list();
  for (const Pair& pair : pairs_) state.push_back(pair.copy.detach());
  return state;
}

void MasterWeights::load_state_dict(const State& state) {
  follow();
  const State::List& saved = state.items();
  if (saved.size() != pairs_.size())
    throw UsageError("the state has ", saved.size(), " master weights, the optimizer steps ", pairs_.size());
  for (size_t i = 0; i < saved.size(); ++i)
    if (saved[i].to_tensor().sizes() != pairs_[i].copy.sizes())
      throw UsageError("a master weight has the shape ", saved[i].to_tensor().sizes(), ", the optimizer's parameter ",
                       pairs_[i].copy.sizes());
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < saved.size(); ++i) pairs_[i].copy.copy_(saved[i].to_tensor());
}

}  // namespace levin::optim
