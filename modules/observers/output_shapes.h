#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace torch::nn {
class Module;
}

namespace levin {

/// The shape of what each submodule computed last, where that could be seen.
using OutputShapes = std::map<const torch::nn::Module*, std::vector<int64_t>>;

/// Runs `forward` in eval mode and without gradients, and puts the modes back. A tensor counts as the output of the
/// submodule whose own parameters the operation took. Seen are operations of the calling thread.
OutputShapes observe_output_shapes(torch::nn::Module& module, const std::function<void()>& forward);

}  // namespace levin
