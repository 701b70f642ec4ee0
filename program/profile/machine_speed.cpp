#include <levin/program/profile/machine_speed.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <levin/core/system/fastest_call.h>

namespace levin {

ProfileMachine machine_speed(c10::Device device) {
  constexpr double kSeconds = 0.15;
  const at::NoGradGuard no_grad;
  const at::TensorOptions options = at::TensorOptions(device).dtype(at::kFloat);
  const auto wait = [](const at::Tensor& tensor) { tensor.flatten()[0].item<float>(); };  // host sync
  const int64_t n = device.is_cpu() ? 512 : 4096;
  const at::Tensor a = at::ones({n, n}, options);
  const double product = seconds_of_fastest_call(kSeconds, [&] { wait(at::mm(a, a)); });
  // Larger than the caches.
  const int64_t elements = device.is_cpu() ? (int64_t{32} << 20) : (int64_t{256} << 20);
  const at::Tensor from = at::ones({elements}, options), to = at::empty({elements}, options);
  const double copy = seconds_of_fastest_call(kSeconds, [&] {
    to.copy_(from);
    wait(to);
  });
  const auto size = static_cast<double>(n);
  return {.matmul_flops = 2 * size * size * size / product,
          .memory_bytes_per_second = 2 * static_cast<double>(from.nbytes()) / copy};
}

}  // namespace levin
