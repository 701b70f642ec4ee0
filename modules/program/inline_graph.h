#pragma once
#include <levin/modules/program/exported_program.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace levin::program {

/// The targets of nodes whose graph runs with or without gradients, as under torch.no_grad, or under torch.autocast.
constexpr std::string_view kWithGradMode = "torch.ops.higher_order.wrap_with_set_grad_enabled";
constexpr std::string_view kWithAutocast = "torch.ops.higher_order.wrap_with_autocast";

/// Returns which input of such a node is the graph that is inlined; 0 for other targets.
inline size_t inlined_input(std::string_view target) {
  return target == kWithGradMode ? 1 : target == kWithAutocast ? 4 : 0;
}

/// A graph inside of a node, such as what ran under torch.no_grad.
struct Subgraph {
  std::vector<std::string> inputs, outputs;  ///< names of values in it
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta> tensors;
};

/// Appends the graph's nodes to the program's. `arguments` and `results` are the program's names of its inputs and
/// outputs; all others get `prefix`. Throws levin::UsageError if their numbers differ.
void append_inlined(ExportedProgram& program, Subgraph graph, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& results, const std::string& prefix);

}  // namespace levin::program
