#pragma once
#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace torch::jit {
struct Graph;
}

namespace levin::compiled {

/// What LibTorch's tracer recorded, as a list of calls of ATen's operators, which Python replays:
///
///     {"op": "aten::linear", "in": [{"v": 4}, {"v": 0}, {"v": 1}], "out": [5]}
///
/// Values are numbered: first the inputs of the graph, then the results of the calls. An argument is a value
/// ({"v": 3}), a tensor that the step did not compute ({"t": 0}, an index of `constants`), a list ({"l": [...]}), a
/// device ({"d": "cpu"}), a number that JSON lacks ({"f": "inf"}), or a number, text, bool or null. A call that ran
/// without gradients (NoGradGuard) has "no_grad": true.
struct OperatorGraph {
  nlohmann::ordered_json calls = nlohmann::ordered_json::array();
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();  ///< arguments
  std::vector<at::Tensor> constants = {};
};

/// `inputs` are the tensors behind the graph's inputs: a constant that views the memory of one of them, as the buffers
/// of a TorchScript module do, becomes that input. Throws levin::UsageError for what is no operator of ATen, and for
/// gradients that are sparse.
OperatorGraph operators_of(const torch::jit::Graph& graph, const std::vector<at::Tensor>& inputs);

}  // namespace levin::compiled
