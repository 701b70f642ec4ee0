#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace torch::jit {
struct Graph;
}

namespace levin::recording {

/// What LibTorch's tracer saw of a function.
struct Recording {
  std::shared_ptr<torch::jit::Graph> graph = nullptr;  ///< null if `failure` says why there is none
  std::string failure = {};
  std::optional<std::string> read = {};  ///< as TraceWatch::read
};

/// Calls `run`, a function of `inputs` and of nothing else that changes, and records the operators that it calls.
/// What `run` throws as levin::UsageError passes.
Recording record(const std::vector<at::Tensor>& inputs, const std::function<torch::jit::Stack()>& run);

}  // namespace levin::recording
