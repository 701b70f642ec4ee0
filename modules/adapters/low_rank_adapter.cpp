#include <levin/modules/adapters/low_rank_adapter.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <levin/modules/adapters/low_rank_product.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace levin::adapters {
namespace {

/// No autocast while it lives: norms are computed in float32.
class WithoutAutocast {
 public:
  explicit WithoutAutocast(c10::DeviceType device)
      : device_(device), was_enabled_(at::autocast::is_autocast_enabled(device)) {
    at::autocast::set_autocast_enabled(device_, false);
  }
  ~WithoutAutocast() { at::autocast::set_autocast_enabled(device_, was_enabled_); }
  WithoutAutocast(const WithoutAutocast&) = delete;
  WithoutAutocast& operator=(const WithoutAutocast&) = delete;

 private:
  c10::DeviceType device_;
  bool was_enabled_;
};

}  // namespace

LowRankAdapter::LowRankAdapter(const LowRankShape& shape_, at::Device device)
    : magnitude(shape_.dora ? std::make_shared<AdapterPart>() : nullptr), shape(shape_) {
  const at::TensorOptions of_factors = at::TensorOptions(at::kFloat).device(device);
  // torch::nn::Linear draws kaiming_uniform_ with a = sqrt(5), which is this bound.
  const double bound = 1 / std::sqrt(static_cast<double>(shape.in));
  weight = register_parameter("weight", at::empty({shape.rank, shape.in}, of_factors).uniform_(-bound, bound));
  output->weight = output->register_parameter("weight", at::zeros({shape.out, shape.rank}, of_factors));
  if (magnitude) magnitude->weight = magnitude->register_parameter("weight", at::ones({shape.out}, of_factors));
}

at::Tensor LowRankAdapter::compute(const at::Tensor& input, const std::optional<at::Tensor>& bias,
                                   const at::Tensor& stored, Layer layer) {
  was_used_.store(true, std::memory_order_relaxed);
  if (!magnitude && !held && (shape.dropout == 0 || !is_training())) {
    const LowRankTensors tensors = {.weight = shape.is_transposed ? stored.t() : stored,
                                    .bias = bias,
                                    .a = weight,
                                    .b = output->weight,
                                    .scale = shape.scale};
    if (can_take_product(input, tensors)) return low_rank_product(input, tensors);
  }
  return magnitude ? with_magnitude(input, bias, stored, layer) : add_to(layer(input, bias), input, /*drops=*/true);
}

at::Tensor LowRankAdapter::add_to(const at::Tensor& layer_output, const at::Tensor& input, bool drops) {
  const bool is_autocast = at::autocast::is_autocast_enabled(input.device().type());
  const at::Tensor seen = is_autocast ? input : input.to(weight.scalar_type());
  const at::Tensor inner = at::linear(at::dropout(seen, shape.dropout, drops && is_training()), weight);
  if (is_autocast || layer_output.scalar_type() != weight.scalar_type())
    return layer_output + (at::linear(inner, output->weight) * shape.scale).to(layer_output.scalar_type());
  return at::addmm(layer_output.reshape({-1, shape.out}), inner.reshape({-1, shape.rank}), output->weight.t(), 1,
                   shape.scale)
      .view(layer_output.sizes());
}

at::Tensor LowRankAdapter::with_magnitude(const at::Tensor& input, const std::optional<at::Tensor>& bias,
                                          const at::Tensor& stored, Layer layer) {
  const at::Tensor factor = magnitude->weight / row_norms(stored).detach().to(magnitude->weight.scalar_type());
  if (shape.dropout > 0 && is_training()) {
    // The layer itself sees the whole input, what is added to it the same dropped one.
    const at::Tensor dropped = at::dropout(input, shape.dropout, /*train=*/true);
    const at::Tensor whole = layer(input, bias), part = layer(dropped, std::nullopt);
    return whole + (add_to(part, dropped, /*drops=*/false) * factor - part).to(whole.scalar_type());
  }
  const at::Tensor base = layer(input, std::nullopt);
  const at::Tensor product = (add_to(base, input, /*drops=*/false) * factor).to(base.scalar_type());
  return bias ? product + bias->to(product.scalar_type()) : product;
}

at::Tensor LowRankAdapter::row_norms(const at::Tensor& stored) const {
  const at::NoGradGuard no_grad;
  const WithoutAutocast in_full(stored.device().type());
  const HeldForm form = held.value_or(HeldForm{.rows = stored.size(0), .cols = stored.size(1)});
  const at::Tensor b = output->weight.to(at::kFloat) * shape.scale, a = weight.to(at::kFloat);
  const int64_t step = rows_at_once(form, stored.device());
  std::vector<at::Tensor> squares;  // of the rows' own norms; transposed: parts of their sums
  for (int64_t begin = 0; begin < form.rows; begin += step) {
    const int64_t count = std::min(step, form.rows - begin);
    const at::Tensor rows =
        held ? rows_of(stored, form, begin, count, at::kFloat) : stored.narrow(0, begin, count).to(at::kFloat);
    const at::Tensor sum = shape.is_transposed ? at::addmm(rows, a.narrow(1, begin, count).t(), b.t())
                                               : at::addmm(rows, b.narrow(0, begin, count), a);
    squares.push_back(at::linalg_vector_norm(sum, 2, {shape.is_transposed ? 0 : 1}).square());
  }
  return (shape.is_transposed ? at::stack(squares).sum(0) : at::cat(squares)).sqrt();
}

at::Tensor LowRankAdapter::merged(const at::Tensor& stored) const {
  const at::NoGradGuard no_grad;
  return merged_weight(held ? whole_weight(stored, *held) : stored.detach(),
                       product_of(weight, output->weight, shape.scale, shape.is_transposed),
                       magnitude ? magnitude->weight : at::Tensor(), shape.is_transposed);
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

at::Tensor merged_weight(const at::Tensor& weight, const at::Tensor& change, const at::Tensor& magnitude,
                         bool is_transposed) {
  const at::NoGradGuard no_grad;
  if (!magnitude.defined()) return weight.clone().add_(change);
  const int64_t over = is_transposed ? 0 : 1;
  const at::Tensor sum = weight.to(change.scalar_type()) + change;
  const at::Tensor norms = at::linalg_vector_norm(sum, 2, {over}, /*keepdim=*/true);
  return (sum * (magnitude.to(sum.scalar_type()).unsqueeze(over) / norms)).to(weight.scalar_type());
}

}  // namespace levin::adapters
