#include <levin/program/profile/step_floor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <levin/core/state/state.h>
#include <levin/core/system/fastest_call.h>
#include <levin/modules/optim/optimizer_state.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace levin {
namespace {

int64_t bytes_of(const State& state) {
  if (state.is_tensor()) return state.to_tensor().dim() == 0 ? 0 : static_cast<int64_t>(state.to_tensor().nbytes());
  if (!state.is_dict()) return 0;
  int64_t bytes = 0;
  for (const auto& [key, value] : state.to_dict()) bytes += bytes_of(value);
  return bytes;
}

double seconds_of(const MatrixProduct& product, c10::Device device) {
  constexpr double kSeconds = 0.03;
  const at::TensorOptions options = at::TensorOptions(device).dtype(at::kFloat);
  const auto wait = [](const at::Tensor& tensor) { tensor.flatten()[0].item<float>(); };  // host sync
  const bool is_one = product.count == 1;
  const auto make = [&](int64_t rows, int64_t columns) {
    return is_one ? at::ones({rows, columns}, options) : at::ones({product.count, rows, columns}, options);
  };
  const at::Tensor a = make(product.rows, product.inner), b = make(product.inner, product.columns);
  at::Tensor result = make(product.rows, product.columns);
  return seconds_of_fastest_call(kSeconds, [&] {
    if (is_one)
      at::mm_out(result, a, b);
    else
      at::bmm_out(result, a, b);
    if (!device.is_cpu()) wait(result);
  });
}

/// Reads and writes `bytes` by a copy within memory of that size, which the caches may hold.
double seconds_of_copy(int64_t bytes, c10::Device device) {
  constexpr double kSeconds = 0.03;
  constexpr int64_t kMost = int64_t{256} << 20;
  if (bytes == 0) return 0;
  const int64_t part = std::min(bytes, kMost);
  const at::Tensor from = at::ones({std::max<int64_t>(part / 8, 1)}, at::TensorOptions(device).dtype(at::kFloat));
  at::Tensor to = at::empty_like(from);
  const double seconds = seconds_of_fastest_call(kSeconds, [&] {
    to.copy_(from);
    if (!device.is_cpu()) to[0].item<float>();  // host sync
  });
  return seconds * static_cast<double>(bytes) / static_cast<double>(part);
}

}  // namespace

int64_t bytes_of_gradients(const torch::optim::Optimizer& optimizer) {
  int64_t bytes = 0;
  for (const torch::optim::OptimizerParamGroup& group : optimizer.param_groups())
    for (const at::Tensor& parameter : group.params())
      if (parameter.grad().defined()) bytes += static_cast<int64_t>(parameter.nbytes());
  return bytes;
}

int64_t bytes_of_step(torch::optim::Optimizer& optimizer) {
  return 3 * bytes_of_gradients(optimizer) + 2 * bytes_of(optim::optimizer_state_dict(optimizer).at("state"));
}

ProfileFloor floor_of_step(const std::map<MatrixProduct, int64_t>& products, int64_t bytes, int64_t bytes_of_ranks,
                           const ProfileMachine& machine, c10::Device device) {
  const at::NoGradGuard no_grad;
  constexpr size_t kMeasured = 64;  // the largest; the others at the rate of a large product
  std::vector<std::pair<MatrixProduct, int64_t>> ordered(products.begin(), products.end());
  std::ranges::sort(
      ordered, [](const auto& a, const auto& b) { return a.second * a.first.flops() > b.second * b.first.flops(); });
  ProfileFloor floor;
  for (size_t i = 0; i < ordered.size(); ++i) {
    const auto& [product, calls] = ordered[i];
    if (product.flops() == 0) continue;
    const double seconds =
        i < kMeasured ? seconds_of(product, device) : static_cast<double>(product.flops()) / machine.matmul_flops;
    floor.product_seconds += static_cast<double>(calls) * seconds;
  }
  floor.memory_seconds = seconds_of_copy(bytes, device);
  floor.rank_seconds = seconds_of_copy(2 * bytes_of_ranks, device);
  return floor;
}

}  // namespace levin
