#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/program_writer.h>
#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

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

}  // namespace levin::program
