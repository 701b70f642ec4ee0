#include <levin/modules/optim/engine/row_change.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <levin/core/ranks/torch_compat/autograd_node.h>
#include <levin/core/system/error.h>

namespace levin::optim::detail {
namespace {

std::mutex& mutex() {
  static auto* const mutex = new std::mutex;  // outlives optimizers that are static
  return *mutex;
}

/// Gives the parameter another value and gradient. Its gradient accumulator has recorded the old shape.
void set_value(at::Tensor parameter, const at::Tensor& value, const at::Tensor& gradient) {
  parameter.mutable_grad().reset();
  parameter.set_data(value);
  torch_compat::renew_grad_accumulator(parameter);
  if (gradient.defined()) parameter.mutable_grad() = gradient;
}

}  // namespace

at::Tensor RowChange::of_value(const at::Tensor& value) const {
  switch (kind) {
    case Kind::Keep:
      return value.detach().index_select(0, rows.to(value.device()));
    case Kind::Append:
      return at::cat({value.detach(), values.detach().to(value.options())});
    default:
      return values.detach().to(value.options(), /*non_blocking=*/false, /*copy=*/true);
  }
}

at::Tensor RowChange::of_average(const at::Tensor& average) const {
  return kind == Kind::ReplaceValue ? average : of_value(average);
}

at::Tensor RowChange::of_state(const at::Tensor& state, const at::Tensor& first) const {
  if (kind == Kind::ReplaceAll && first.defined()) return first;
  if (!state.defined() || kind == Kind::ReplaceValue) return state;
  if (kind == Kind::Keep) return of_value(state);
  const at::Tensor begin = first.defined() ? first.to(state.options()) : at::zeros(values.sizes(), state.options());
  return kind == Kind::Append ? at::cat({state, begin}) : begin;
}

at::Tensor RowChange::of_gradient(const at::Tensor& gradient) const {
  if (!gradient.defined() || kind == Kind::ReplaceAll) return {};
  return of_state(gradient.is_sparse() ? gradient.to_dense() : gradient, {});
}

RowLock::RowLock() : lock_(mutex()) {}

RowSubscription::~RowSubscription() {
  const RowLock lock;
  std::erase(all(), &entry_);
}

std::vector<const RowSubscription::Entry*>& RowSubscription::all() {
  static auto* const entries = new std::vector<const Entry*>;  // as the mutex
  return *entries;
}

void change_rows(const at::Tensor& parameter, const RowChange& change, bool needs_optimizer) {
  const at::NoGradGuard no_grad;
  const RowLock lock;
  RowCommit commit;
  commit.copies.push_back(parameter);
  for (size_t i = 0; i < commit.copies.size(); ++i) {
    const at::Tensor tensor = commit.copies[i];
    commit.actions.emplace_back([tensor, value = change.of_value(tensor),
                                 gradient = change.of_gradient(tensor.grad())] { set_value(tensor, value, gradient); });
    for (const RowSubscription::Entry* const one : RowSubscription::all())
      if (one->has_rows_of(one->owner, tensor)) one->prepare(one->owner, tensor, change, commit);
  }
  if (needs_optimizer && !commit.has_optimizer)
    throw UsageError(
        "no optimizer steps this tensor of shape ", parameter.sizes(),
        ": give the parameter itself, not a view or a copy of it, once its optimizer is made; an optimizer of "
        "LibTorch outside of a LightningModule needs a levin::optim::RowTracker");
  for (const std::function<void()>& act : commit.actions) act();
}

}  // namespace levin::optim::detail
