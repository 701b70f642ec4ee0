#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/export/bound_program.h>
#include <levin/modules/program/program_archive.h>
#include <torch/nn/module.h>

#include <filesystem>
#include <vector>

namespace levin::program {

/// A .pt2 beside the module that it was exported from: the file's operators, on the module's own parameters and
/// buffers and in the modes of its parts, so that both can be compared without a second copy of the weights.
class ProgramFile {
 public:
  /// Reads the file and compares each of its weights with the module's. Throws levin::UsageError for one that differs
  /// or is missing. The module must outlive the object.
  ProgramFile(const std::filesystem::path& path, torch::nn::Module& module);

  /// Runs the operators. Buffers that they change are changed in the module.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const { return program_.run(inputs); }

 private:
  ProgramArchive archive_;
  BoundProgram program_;
};

}  // namespace levin::program
