#pragma once
#include <c10/core/Device.h>
#include <levin/data/batch.h>
#include <levin/modules/observers/layer_watch.h>
#include <torch/nn/module.h>

#include <exception>
#include <optional>

namespace levin {

/// Whether the next step of each kind is the first of a run. The first step is watched, so that its errors can name the
/// layer.
struct FirstSteps {
  bool training = true, evaluation = true, prediction = true;
};

/// Throws levin::UsageError if LibTorch's error is caused by a mistake that can be named: tensors on different devices
/// (the text names the parameters, buffers and tensors of the batch that are not on `device`), a device that LibTorch
/// was built without, an operation without a kernel for the dtype, a class number that the loss does not know, one
/// sample for BatchNorm, and, in a watched step, an operation that does not fit its tensors. Otherwise rethrows the
/// error; so it must be called in the error's handler.
[[noreturn]] void throw_explained(const std::exception& error, const torch::nn::Module& module, const Batch& batch,
                                  c10::Device device, const LayerWatch* watch);

/// Throws levin::UsageError if LibTorch's error in a backward is caused by a mistake that can be named: a graph that is
/// gone through twice, an operation without a kernel for the dtype. Otherwise rethrows the error.
[[noreturn]] void throw_explained_backward(const std::exception& error, c10::Device device);

/// Runs a step of `module` and explains LibTorch's errors if the cause is known. `watch`: see FirstSteps.
template <class Step>
auto explain_step_errors(const torch::nn::Module& module, const Batch& batch, c10::Device device, bool watch,
                         const Step& step) {
  std::optional<LayerWatch> watched;
  if (watch) watched.emplace(module);
  try {
    return step();
  } catch (const std::exception& error) {
    throw_explained(error, module, batch, device, watched ? &*watched : nullptr);
  }
}

}  // namespace levin
