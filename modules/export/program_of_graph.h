#pragma once
#include <levin/modules/export/recorded_inputs.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/program_writer.h>

#include <string>

namespace torch::jit {
struct Graph;
}

namespace levin::program {

/// A program with sizes as they were in one recording.
struct RecordedProgram {
  ExportedProgram program = {};
  ProgramTensors::Named constants = {};  ///< tensors that the function made without operators
};

/// Returns the nodes of a graph as a program: all that torch.export would record, too. Nodes that ran without gradients
/// are cut off by `detach`, unless the whole program is one of inference. Throws levin::UsageError for what is no
/// operator of ATen or has no place in a program: sparse tensors, complex numbers as arguments.
RecordedProgram program_of_graph(const torch::jit::Graph& graph, const RecordedInputs& inputs, bool is_inference);

/// "aten::linear of net.0", for messages.
std::string named_operator(const Node& node);

}  // namespace levin::program
