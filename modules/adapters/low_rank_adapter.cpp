#include <levin/modules/adapters/low_rank_adapter.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <cmath>

namespace levin::adapters {

LowRankAdapter::LowRankAdapter(const LowRankShape& shape_, at::Device device) : shape(shape_) {
  const at::TensorOptions of_factors = at::TensorOptions(at::kFloat).device(device);
  // torch::nn::Linear draws kaiming_uniform_ with a = sqrt(5), which is this bound.
  const double bound = 1 / std::sqrt(static_cast<double>(shape.in));
  weight = register_parameter("weight", at::empty({shape.rank, shape.in}, of_factors).uniform_(-bound, bound));
  output->weight = output->register_parameter("weight", at::zeros({shape.out, shape.rank}, of_factors));
}

at::Tensor LowRankAdapter::add_to(const at::Tensor& layer_output, const at::Tensor& input) {
  was_used_.store(true, std::memory_order_relaxed);
  const bool is_autocast = at::autocast::is_autocast_enabled(input.device().type());
  const at::Tensor seen = is_autocast ? input : input.to(weight.scalar_type());
  const at::Tensor inner = at::linear(at::dropout(seen, shape.dropout, is_training()), weight);
  if (is_autocast || layer_output.scalar_type() != weight.scalar_type())
    return layer_output + (at::linear(inner, output->weight) * shape.scale).to(layer_output.scalar_type());
  return at::addmm(layer_output.reshape({-1, shape.out}), inner.reshape({-1, shape.rank}), output->weight.t(), 1,
                   shape.scale)
      .view(layer_output.sizes());
}

at::Tensor LowRankAdapter::change() const {
  return product_of(weight, output->weight, shape.scale, shape.is_transposed);
}

double scale_of(double alpha, int64_t rank, bool rslora) {
  const auto number = static_cast<double>(rank);
  return alpha / (rslora ? std::sqrt(number) : number);
}

at::Tensor product_of(const at::Tensor& a, const at::Tensor& b, double scale, bool is_transposed) {
  const at::NoGradGuard no_grad;
  const at::Tensor product = at::matmul(b, a) * scale;
  return is_transposed ? product.t() : product;
}

at::Tensor merged_weight(const at::Tensor& weight, const LowRankAdapter& adapter) {
  const at::NoGradGuard no_grad;
  return weight.detach().clone().add_(adapter.change());
}

}  // namespace levin::adapters
