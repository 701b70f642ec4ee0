#pragma once
#include <ATen/core/Tensor.h>

namespace levin {

/// Puts the state of LibTorch's default CPU generator back when it goes out of scope.
class RngGuard {
 public:
  RngGuard();
  ~RngGuard();
  RngGuard(const RngGuard&) = delete;
  RngGuard& operator=(const RngGuard&) = delete;

 private:
  at::Tensor state_;
};

}  // namespace levin
