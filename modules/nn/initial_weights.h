#pragma once
#include <levin/core/options/option.h>
#include <levin/core/options/text_table.h>
#include <levin/modules/adapters/registry.h>
#include <torch/nn/module.h>

#include <string>
#include <vector>

namespace levin {

/// The options of a module that can load initial weights from a file, and train adapters in their place. As a member
/// without LEVIN_OPTION they are flattened into the module's own options: `model.weights`.
struct InitialWeights {
  std::string weights = LEVIN_OPTION(
      weights, "", "File with the initial weights: .pt, .ckpt or .safetensors, of levin or Python; empty: random ones");
  bool weights_strict =
      LEVIN_OPTION(weights_strict, true, "All weights must fit; false: load those that do, and say which do not");
  std::string weights_prefix =
      LEVIN_OPTION(weights_prefix, "",
                   "Take only the weights whose names begin so (\"model.\", say), and leave that out of the names");
  std::string weights_add_prefix =
      LEVIN_OPTION(weights_add_prefix, "", "Put this before the names of the file's weights (\"encoder.\", say)");
  TextTable weights_rename = LEVIN_OPTION(
      weights_rename, {},
      "New names of the file's weights, by patterns, before weights_add_prefix: {\"bert.*\": \"encoder.*\"}; * is any "
      "text, and the longest pattern counts");
  std::vector<std::string> frozen = LEVIN_OPTION(
      frozen, {},
      "Parameters that stay as they are, by the end of their names, that of a part of the module, or a pattern");
  ClassChoice<AdapterKind> adapter = LEVIN_OPTION(
      adapter, {},
      "What is trained in place of the weights, which stay as they are: LoRA; unset: all weights are trained");
};

/// Loads the weights file named by `options` into `module`, if one is named, and, with `weights_strict` false, reports
/// mismatches on stderr; then freezes what is named, and adds the adapters. `path` is the path of the options
/// ("model"). Throws levin::UsageError for a file that is missing or does not match, a frozen name of nothing, and as
/// the adapter does.
void load_initial_weights(torch::nn::Module& module, const InitialWeights& options, const std::string& path = "model");

}  // namespace levin
