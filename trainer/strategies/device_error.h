#pragma once
#include <c10/core/Device.h>
#include <c10/util/Exception.h>
#include <levin/data/batch.h>
#include <torch/nn/module.h>

namespace levin {

/// Throws levin::UsageError that names every parameter, buffer and tensor of the batch that is not on `device`, where
/// LibTorch's error is about tensors on different devices; the error itself otherwise.
[[noreturn]] void throw_explained(const c10::Error& error, const torch::nn::Module& module, const Batch& batch,
                                  c10::Device device);

/// Runs a step of `module`; an error of LibTorch about devices says what is where.
template <class Step>
auto explain_device_errors(const torch::nn::Module& module, const Batch& batch, c10::Device device, const Step& step) {
  try {
    return step();
  } catch (const c10::Error& error) {
    throw_explained(error, module, batch, device);
  }
}

}  // namespace levin
