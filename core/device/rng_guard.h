#pragma once
#include <levin/core/device/own_generator.h>
#include <levin/core/device/rng_state.h>

namespace levin {

/// Restores the states of this thread's CPU generator and of the default generators of GPUs in use when it goes out of
/// scope.
class RngGuard {
 public:
  RngGuard() : cpu_(default_generator()), state_(rng_state()) {}
  ~RngGuard() { load_rng_state(state_, cpu_); }
  RngGuard(const RngGuard&) = delete;
  RngGuard& operator=(const RngGuard&) = delete;

 private:
  at::Generator cpu_;
  State state_;
};

}  // namespace levin
