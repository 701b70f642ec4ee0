#include <levin/modules/recording/record.h>
#include <levin/core/system/error.h>
#include <levin/modules/recording/trace_watch.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <utility>

namespace levin::recording {

Recording record(const std::vector<at::Tensor>& inputs, const std::function<torch::jit::Stack()>& run) {
  // TorchScript's own differentiation and fusion would hide operators from the tracer.
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  torch::jit::Stack stack(inputs.begin(), inputs.end());
  const auto name = [](const at::Tensor&) { return std::string(); };
  const TraceWatch watch(inputs);
  Recording recording;
  try {
    recording.graph = torch::jit::tracer::trace(
                          std::move(stack), [&](torch::jit::Stack) { return run(); }, name, /*strict=*/true)
                          .first->graph;
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    recording.failure = message_of(error);
  }
  recording.read = watch.read();
  return recording;
}

}  // namespace levin::recording
