#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace torch::nn {
class Module;
}

namespace levin {

/// The shape of the last output of each submodule for which one was observed.
using OutputShapes = std::map<const torch::nn::Module*, std::vector<int64_t>>;

/// Runs `forward` in eval mode and without gradients, and restores the modes. The result of an operation counts as the
/// output of the submodule whose own parameters the operation used. Only operations of the calling thread are observed.
OutputShapes observe_output_shapes(torch::nn::Module& module, const std::function<void()>& forward);

}  // namespace levin
