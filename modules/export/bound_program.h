#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/runner.h>

#include <map>
#include <string>
#include <vector>

namespace levin::program {

/// A program and the tensors that it starts with.
class BoundProgram {
 public:
  /// `tensors`: parameters, buffers and constants, by the names that the program calls them. The program must outlive
  /// the object. Throws as Runner.
  BoundProgram(const ExportedProgram& program, const std::string& file, std::map<std::string, at::Tensor> tensors);

  Runner& runner() { return runner_; }
  /// Runs the program. `inputs` are those of the user, in order.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const;

 private:
  const ExportedProgram& program_;
  Runner runner_;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace levin::program
