#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace levin {

/// One submodule of a ModuleSummary.
struct LayerSummary {
  std::string name = {};   ///< its path as in named_modules(): "net.0"
  std::string type = {};   ///< its class: "Linear"
  int64_t parameters = 0;  ///< elements, including submodules; of weights held as codes, those of the weights
  int64_t trainable = 0;   ///< elements that require gradients
  std::vector<int64_t> output_shape = {};
  bool output_seen = false;
};

/// A summary of a module's layers, like PyTorch Lightning's ModelSummary.
struct ModuleSummary {
  std::vector<LayerSummary> layers = {};
  int64_t parameters = 0, trainable = 0;  ///< elements of the whole module
  int64_t bytes = 0;                      ///< of parameters and buffers

  /// Returns a table with one line per layer, and the totals.
  std::string to_text() const;
};

/// Summarizes the submodules down to `max_depth` (1: direct children, -1: all). Shared parameters count once in the
/// totals.
///
/// If `forward` is given, it is called once, in eval mode and without gradients; each layer that owns parameters gets
/// the shape of the last tensor computed from them. (LibTorch's modules have no forward hooks, so layers without
/// parameters show no shape.)
ModuleSummary summarize(torch::nn::Module& module, int64_t max_depth = 1,
                        const std::function<void()>& forward = nullptr);

}  // namespace levin
