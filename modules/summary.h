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
  int64_t parameters = 0;  ///< elements, with those of its own submodules
  int64_t trainable = 0;   ///< elements that require gradients
  std::vector<int64_t> output_shape = {};
  bool output_seen = false;
};

/// What a module consists of, as PyTorch Lightning's ModelSummary.
struct ModuleSummary {
  std::vector<LayerSummary> layers = {};
  int64_t parameters = 0, trainable = 0;  ///< elements of the whole module
  int64_t bytes = 0;                      ///< of parameters and buffers

  /// A table with one line for each layer, and the sums.
  std::string to_text() const;
};

/// The submodules down to `max_depth` (1: direct ones, -1: all). Shared parameters count once in the sums.
///
/// `forward`, where given, is called once, in eval mode and without gradients; a layer that owns parameters gets the
/// shape of the last tensor that was computed from them. (LibTorch's modules have no forward hooks, so that layers
/// without parameters show none.)
ModuleSummary summarize(torch::nn::Module& module, int64_t max_depth = 1,
                        const std::function<void()>& forward = nullptr);

}  // namespace levin
