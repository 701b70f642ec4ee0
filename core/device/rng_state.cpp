#include <levin/core/device/rng_state.h>
#include <ATen/Context.h>
#include <levin/core/device/own_generator.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <mutex>

namespace levin {
namespace {

at::Tensor state_of(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void set_state(at::Generator generator, const at::Tensor& state) try {
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
} catch (const c10::Error& error) {
  throw UsageError("the state of the random numbers cannot be restored: ", error.what_without_backtrace());
}

int64_t cuda_devices() {
  return at::globalContext().hasCUDA() ? static_cast<int64_t>(at::detail::getCUDAHooks().deviceCount()) : 0;
}

at::Generator cuda_generator(int64_t device) {
  return at::globalContext().defaultGenerator(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)));
}

}  // namespace

State rng_state() {
  State state = State::dict({{"cpu", state_of(default_generator())}, {"cuda", State::list()}});
  // Reading the state would initialize a device that is not in use yet.
  if (!at::globalContext().hasCUDA() || !at::detail::getCUDAHooks().hasPrimaryContext(0)) return state;
  for (int64_t device = 0; device < cuda_devices(); ++device) state["cuda"].push_back(state_of(cuda_generator(device)));
  return state;
}

void load_rng_state(const State& state) { load_rng_state(state, default_generator()); }

void load_rng_state(const State& state, const at::Generator& cpu) {
  set_state(cpu, state.at("cpu").to_tensor());
  const State::List& saved = state.at("cuda").items();
  const int64_t devices = std::min(cuda_devices(), static_cast<int64_t>(saved.size()));
  for (int64_t device = 0; device < devices; ++device)
    set_state(cuda_generator(device), saved[static_cast<size_t>(device)].to_tensor());
}

}  // namespace levin
