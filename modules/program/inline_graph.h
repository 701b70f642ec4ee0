#pragma once
#include <levin/modules/program/exported_program.h>

#include <map>
#include <string>
#include <vector>

namespace levin::program {

/// The target of a node whose graph runs with or without gradients, as under torch.no_grad.
constexpr const char* kWithGradMode = "torch.ops.higher_order.wrap_with_set_grad_enabled";

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
