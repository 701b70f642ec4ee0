// Complex parameters: an optimizer's rule sees them as real tensors with a last dimension of 2, as in PyTorch.
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <levin/modules/optim/optimizer.h>

#include <algorithm>
#include <deque>
#include <utility>

namespace levin::optim {
namespace {

/// Makes the tensors of a state that have the shape of `real`, a complex parameter's view, complex.
void complex_again(const at::Tensor& real, ParamState& state) {
  for (at::Tensor& tensor : state.tensors)
    if (tensor.defined() && tensor.sizes() == real.sizes()) tensor = at::view_as_complex(tensor);
}

}  // namespace

ParamState Optimizer::state_before_steps(const torch::optim::OptimizerOptions& options, const at::Tensor& parameter,
                                         const at::Tensor& gradient) const {
  if (!parameter.is_complex()) return first_state(options, {&parameter, gradient, nullptr});
  const at::Tensor real = at::view_as_real(parameter.detach());
  ParamState state = first_state(options, {&real, real, nullptr});
  complex_again(real, state);
  return state;
}

void Optimizer::update_real(const torch::optim::OptimizerOptions& options, Members& members) {
  if (std::ranges::none_of(members, [](const Member& member) { return member.parameter->is_complex(); }))
    return update(options, members);
  struct Viewed {
    at::Tensor parameter;
    ParamState state;
    ParamState* held;
  };
  std::deque<Viewed> viewed;
  for (Member& member : members) {
    if (!member.parameter->is_complex()) continue;
    Viewed& one = viewed.emplace_back(Viewed{at::view_as_real(*member.parameter), *member.state, member.state});
    for (at::Tensor& tensor : one.state.tensors)
      if (tensor.defined() && tensor.is_complex()) tensor = at::view_as_real(tensor);
    member = {&one.parameter, at::view_as_real(member.gradient.resolve_conj()), &one.state, 2 * member.begin,
              2 * member.numel_of_whole};
  }
  update(options, members);
  for (Viewed& one : viewed) {
    complex_again(one.parameter, one.state);
    *one.held = std::move(one.state);
  }
}

}  // namespace levin::optim
