#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/program_writer.h>
#include <torch/nn/module.h>

#include <string>
#include <vector>

namespace torch::jit {
struct Graph;
}

namespace levin::program {

/// The tensors of which a recorded function is a function: a module's parameters and buffers, each once, then the
/// user's inputs.
struct RecordedInputs {
  std::vector<Input> inputs = {};                                 ///< what they are to the program
  std::vector<at::Tensor> tensors = {};                           ///< of each of `inputs`
  ProgramTensors weights = {};                                    ///< the module's, under each of their names
  std::vector<std::pair<std::string, std::string>> modules = {};  ///< path and class, the module itself first
};

/// Returns the name of a value in a program for a name of the user's: "net.0.weight" becomes "net_0_weight".
std::string python_name(std::string name);

RecordedInputs inputs_of_module(const torch::nn::Module& module);
/// Adds an input of the user's. The name becomes one that Python allows.
void add_user_input(RecordedInputs& inputs, const std::string& name, const at::Tensor& tensor);

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
