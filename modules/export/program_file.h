#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/program/program_archive.h>
#include <levin/modules/program/runner.h>
#include <torch/nn/module.h>

#include <filesystem>
#include <map>
#include <string>
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
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const;

 private:
  ProgramArchive archive_;
  Runner runner_;
  std::map<std::string, at::Tensor> tensors_ = {};  ///< parameters, buffers and constants
};

}  // namespace levin::program
