#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/program_writer.h>

#include <map>
#include <string>
#include <vector>

namespace levin::program {

/// What is known of a program's values before it runs: parameters, buffers and constants, and which nodes make and read
/// each value. The program and its tensors must outlive the object, and nodes must stay where they are.
class KnownTensors {
 public:
  KnownTensors(ExportedProgram& program, ProgramTensors& tensors);

  /// Returns a parameter, buffer or constant by the name of its value, on the CPU; undefined for other values.
  at::Tensor find(const std::string& value) const;
  /// Gives a parameter, buffer or constant another tensor.
  void replace(const std::string& value, const at::Tensor& tensor) { *tensors_.at(value) = tensor; }
  /// Returns the node that makes a value, or nullptr.
  Node* maker(const std::string& value) const;
  /// Counts the reads of a value, by nodes and as an output.
  size_t reads(const std::string& value) const;
  /// Returns the only node that reads a value, which is no output; nullptr if there is none.
  const Node* only_reader(const std::string& value) const;

 private:
  std::map<std::string, at::Tensor*> tensors_ = {};
  std::map<std::string, Node*> makers_ = {};
  std::map<std::string, std::vector<const Node*>> readers_ = {};  ///< nullptr: an output
};

/// Returns the name of the value that an argument of a node is; empty if it is no tensor.
std::string value_of(const Node& node, const std::string& argument);

}  // namespace levin::program
