#include <levin/modules/optim/optimizers/adafactor.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin::optim {
namespace {

double epsilon_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    case at::kHalf:
      return std::numeric_limits<c10::Half>::epsilon();
    case at::kBFloat16:
      return std::numeric_limits<c10::BFloat16>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

at::Tensor mean_of_squares(const at::Tensor& gradient, int64_t dim) {
  return at::linalg_vector_norm(gradient, 2, dim, /*keepdim=*/true).square_().div_(gradient.size(dim));
}

double root_mean_square(const at::Tensor& tensor) {
  return at::linalg_vector_norm(tensor, 2).item<double>() /  // host sync on a GPU, as in Python
         std::sqrt(static_cast<double>(tensor.numel()));
}

}  // namespace

void to_python_names(Json& values, const AdafactorOptions& /*options*/) {
  values["eps"] = {values.at("eps1"), values.at("eps2")};
  values.erase("eps1");
  values.erase("eps2");
}

void from_python_names(Json& values, const AdafactorOptions& /*options*/) {
  if (!values.contains("eps")) return;
  const Json eps = values.at("eps");
  values.erase("eps");
  if (eps.size() != 2) throw UsageError("Adafactor: expected two numbers as eps, got ", eps.size());
  values["eps1"] = eps[0];
  values["eps2"] = eps[1];
}

Adafactor::Adafactor(std::vector<at::Tensor> parameters, AdafactorOptions options)
    : Adafactor(detail::one_group(std::move(parameters)), std::move(options)) {}
Adafactor::Adafactor(ParamGroups groups, AdafactorOptions options)
    : OptimizerOf("Adafactor", groups, std::move(options)) {
  for (const at::Tensor& parameter : detail::parameters_of(*this))
    if (parameter.is_complex()) throw UsageError("Adafactor does not take complex parameters; use another optimizer");
}

StateNames Adafactor::state_names() const { return {.tensors = {"row_var", "col_var", "variance"}}; }

ParamState Adafactor::make_state(const AdafactorOptions& /*options*/, const Member& member) const {
  const at::Tensor& parameter = *member.parameter;
  if (parameter.dim() < 2) return detail::state_of({at::Tensor(), at::Tensor(), detail::zeros_for(parameter)});
  std::vector<int64_t> rows = parameter.sizes().vec(), columns = rows;
  rows.back() = 1;
  columns[columns.size() - 2] = 1;
  return detail::state_of(
      {at::zeros(rows, parameter.options()), at::zeros(columns, parameter.options()), at::Tensor()});
}

bool Adafactor::has_rows(size_t tensor, const at::Tensor& parameter) const {
  return tensor != 1 || parameter.dim() != 2;  // the columns' mean over all rows of a matrix
}

void Adafactor::update_group(const AdafactorOptions& options, Members& members) {
  for (Member& member : members) {
    const at::Tensor& parameter = *member.parameter;
    const at::Tensor gradient = scaled_gradient(member);
    const auto step = static_cast<double>(member.state->step);
    const double least = options.eps1.value_or(epsilon_of(parameter.scalar_type()));
    const double weight = std::pow(step, options.beta2_decay);
    const double rate = std::max(options.eps2, root_mean_square(parameter)) * std::min(options.lr, 1 / std::sqrt(step));
    if (options.weight_decay != 0) parameter.mul_(1 - options.lr * options.weight_decay);
    at::Tensor estimate;
    if (gradient.dim() > 1) {
      at::Tensor &rows = member.state->tensors[0], &columns = member.state->tensors[1];
      rows.lerp_(mean_of_squares(gradient, -1), weight);
      columns.lerp_(mean_of_squares(gradient, -2), weight);
      estimate = rows.matmul(columns).div_(rows.mean(-2, /*keepdim=*/true).clamp_min_(least));
    } else {
      at::Tensor& variance = member.state->tensors[2];
      variance.lerp_(gradient * gradient, weight);
      estimate = variance.clone();
    }
    const at::Tensor update = estimate.clamp_min_(least * least).rsqrt_().mul_(gradient);
    parameter.add_(update, -rate / std::max(1.0, root_mean_square(update) / options.d));
  }
}

}  // namespace levin::optim
