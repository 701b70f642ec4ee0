#pragma once
#include <c10/core/Device.h>
#include <levin/data/batch.h>
#include <levin/modules/layer_watch.h>
#include <torch/nn/module.h>

#include <exception>
#include <optional>

namespace levin {

/// Whether the next step of each kind is the first of a run: that one is watched, so that its errors can name the
/// layer.
struct FirstSteps {
  bool training = true, evaluation = true, prediction = true;
};

/// Throws levin::UsageError where LibTorch's error is about a mistake that can be named: tensors on different devices
/// (which parameters, buffers and tensors of the batch are not on `device`), one sample for BatchNorm, and in a step
/// that was watched an operation that its tensors do not fit. Throws the error itself otherwise; to be called in its
/// handler.
[[noreturn]] void throw_explained(const std::exception& error, const torch::nn::Module& module, const Batch& batch,
                                  c10::Device device, const LayerWatch* watch);

/// Runs a step of `module`; an error of LibTorch says what is wrong where that can be known. `watch`: see FirstSteps.
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
