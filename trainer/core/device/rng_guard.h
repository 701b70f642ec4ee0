#pragma once
#include <levin/trainer/core/device/rng_state.h>

namespace levin {

/// Restores the states of LibTorch's default generators, of the CPU and of GPUs in use, when it goes out of scope.
class RngGuard {
 public:
  RngGuard() : state_(rng_state()) {}
  ~RngGuard() { load_rng_state(state_); }
  RngGuard(const RngGuard&) = delete;
  RngGuard& operator=(const RngGuard&) = delete;

 private:
  State state_;
};

}  // namespace levin
