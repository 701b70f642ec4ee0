#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/batch.h>
#include <levin/modules/export/export_program.h>
#include <levin/modules/export/program_of_graph.h>
#include <levin/modules/training_modes.h>
#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

namespace levin::program {

/// The entries of a batch, of which a function is one.
struct Entries {
  std::vector<std::string> names = {};
  std::vector<at::Tensor> tensors = {};

  Batch batch() const;
};

/// Returns the entries that a function may read: all but the target, without gradients. Throws levin::UsageError for a
/// batch with lists or of the program's own type.
Entries inputs_of_example(const Batch& example);

/// Records a function of a module, in training mode or, with options.inference, in evaluation. Buffers and the modes of
/// the module's parts are afterwards as before.
class FunctionRecorder {
 public:
  /// The module and the options must outlive the object.
  FunctionRecorder(torch::nn::Module& module, const ExportOptions& options);
  ~FunctionRecorder();
  FunctionRecorder(const FunctionRecorder&) = delete;
  FunctionRecorder& operator=(const FunctionRecorder&) = delete;

  struct Recorded : RecordedProgram {
    std::vector<std::string> outputs = {};  ///< names of what the function returned
    std::vector<bool> reads = {};           ///< whether a node reads the input
  };
  /// Throws levin::UsageError for a function that reads values, or that LibTorch's tracer cannot follow.
  Recorded record(const Entries& inputs) const;

 private:
  Entries call(const Entries& inputs) const;
  void restore_buffers() const;

  torch::nn::Module& module_;
  const ExportOptions& options_;
  TrainingModes modes_;
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_ = {};  ///< with their values before
};

}  // namespace levin::program
