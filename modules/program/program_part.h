#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/program/program_archive.h>
#include <torch/nn/module.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace levin::program {

/// One part of an exported model as a torch::nn::Module, under Python's name and with the name of its class.
class ProgramPart : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;
};

/// A part whose activations may be computed again in backward.
class ProgramBlock final : public ProgramPart, public Checkpointable {
 public:
  using ProgramPart::ProgramPart;
};

/// The model that a program was exported from: its parts, parameters and persistent buffers, registered with a module
/// under Python's names.
class ModelTree {
 public:
  /// Registers everything with `root`. Parameters that share memory in the file become one tensor. The parts with the
  /// paths `blocks` become ProgramBlocks. Throws levin::UsageError for names that no module can have.
  ModelTree(torch::nn::Module& root, const ProgramArchive& archive, const std::set<std::string>& blocks);

  /// Returns the part with this path; the root for "" and for paths that there are not.
  torch::nn::Module* part(const std::string& path) const;
  /// Returns a registered parameter or buffer by its name. Throws levin::UsageError if there is none.
  const at::Tensor& tensor(const std::string& name) const;
  const std::map<std::string, at::Tensor>& tensors() const { return tensors_; }

 private:
  void add_parts(const ProgramArchive& archive);
  torch::nn::Module* part_to_make(const std::string& path);
  void add_tensor(const ProgramArchive& archive, const std::string& name);

  torch::nn::Module* root_;
  std::map<std::string, torch::nn::Module*> parts_ = {};
  std::map<std::string, std::string> classes_ = {};  ///< by path
  std::set<std::string> blocks_ = {};
  std::map<std::string, at::Tensor> tensors_ = {};
  std::map<std::string, std::string> first_names_ = {};  ///< of the memory in the file: the name that came first
};

}  // namespace levin::program
