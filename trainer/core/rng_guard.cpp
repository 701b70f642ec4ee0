#include <levin/trainer/core/rng_guard.h>
#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace levin {

RngGuard::RngGuard() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  state_ = generator.get_state();
}

RngGuard::~RngGuard() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state_);
}

}  // namespace levin
