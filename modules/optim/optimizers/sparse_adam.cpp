#include <levin/modules/optim/optimizers/sparse_adam.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <levin/core/system/error.h>

#include <cmath>
#include <utility>

namespace levin::optim {

SparseAdam::SparseAdam(std::vector<at::Tensor> parameters, SparseAdamOptions options)
    : SparseAdam(detail::one_group(std::move(parameters)), std::move(options)) {}
SparseAdam::SparseAdam(ParamGroups groups, SparseAdamOptions options)
    : OptimizerOf("SparseAdam", groups, std::move(options)) {
  for (const at::Tensor& parameter : detail::parameters_of(*this))
    if (parameter.is_complex()) throw UsageError("SparseAdam does not take complex parameters; use another optimizer");
}

StateNames SparseAdam::state_names() const { return {.tensors = {"exp_avg", "exp_avg_sq"}}; }

ParamState SparseAdam::make_state(const SparseAdamOptions& /*options*/, const Member& member) const {
  return detail::state_of({detail::zeros_for(*member.parameter), detail::zeros_for(*member.parameter)});
}

void SparseAdam::update_group(const SparseAdamOptions& /*options*/, Members& members) {
  for (Member& member : members) --member.state->step;
  throw UsageError("SparseAdam takes sparse gradients only, and a parameter of shape ",
                   members.front().parameter->sizes(),
                   " has a dense one; give it the embeddings that are made with sparse(true), and the other parameters "
                   "another optimizer. On several ranks all gradients are dense: use one device, or Adam");
}

void SparseAdam::update_one_sparse(const SparseAdamOptions& options, Member& member) {
  const at::Tensor gradient = member.gradient.coalesce();
  const at::Tensor indices = gradient._indices(), values = gradient._values();
  if (values.numel() == 0) return;
  const auto sparse = [&](const at::Tensor& of) {
    return at::sparse_coo_tensor(indices, of, gradient.sizes(), of.options().layout(at::kSparse));
  };
  const double beta1 = options.betas[0], beta2 = options.betas[1];
  at::Tensor &average = member.state->tensors[0], &square = member.state->tensors[1];
  const at::Tensor old_average = average.sparse_mask(gradient)._values();
  const at::Tensor old_square = square.sparse_mask(gradient)._values();
  const at::Tensor change = values.sub(old_average).mul_(1 - beta1);
  const at::Tensor change_of_square = values.pow(2).sub_(old_square).mul_(1 - beta2);
  average.add_(sparse(change));
  square.add_(sparse(change_of_square));
  const at::Tensor numerator = change + old_average;
  const at::Tensor denominator = (change_of_square + old_square).sqrt_().add_(options.eps);
  const auto step = static_cast<double>(member.state->step);
  const double rate = options.lr * std::sqrt(1 - std::pow(beta2, step)) / (1 - std::pow(beta1, step));
  member.parameter->add_(sparse((numerator / denominator).mul_(-rate)));
}

}  // namespace levin::optim
