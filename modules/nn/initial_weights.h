#pragma once
#include <levin/trainer/core/options/option.h>
#include <torch/nn/module.h>

#include <string>

namespace levin {

/// The options of a module that can begin with weights from a file. As a member without LEVIN_OPTION they stand flat
/// beside the module's own: `model.weights`.
struct InitialWeights {
  std::string weights = LEVIN_OPTION(
      weights, "", "File with the initial weights: .pt, .ckpt or .safetensors, of levin or Python; empty: random ones");
  bool weights_strict =
      LEVIN_OPTION(weights_strict, true, "All weights must fit; false: load those that do, and say which do not");
  std::string weights_prefix =
      LEVIN_OPTION(weights_prefix, "",
                   "Take only the weights whose names begin so (\"model.\", say), and leave that out of the names");
};

/// Loads what `options` name into `module`, and says on stderr what did not fit where that is allowed; does nothing
/// where they name no file. `path` is where the options stand ("model").
/// Throws levin::UsageError for a file that is missing or does not fit.
void load_initial_weights(torch::nn::Module& module, const InitialWeights& options, const std::string& path = "model");

}  // namespace levin
