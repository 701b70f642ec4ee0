#pragma once
#include <levin/data/batch.h>
#include <levin/modules/lightning_module.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// A dimension whose size may change, as users write it: "input:0=batch[1:1024]", "input:2=16*height", "batch".
struct DynamicSize {
  std::string input = {};  ///< entry of the batch; empty: all entries
  int64_t dim = 0;         ///< from the end if negative
  std::string name = {};   ///< dimensions of one name have one size
  int64_t factor = 1;      ///< the size is a multiple of this
  std::optional<int64_t> least = {}, most = {};
};

/// Parses "INPUT:DIM=[FACTOR*]NAME[LEAST:MOST]". Throws levin::UsageError that shows the form.
DynamicSize parse_dynamic_size(const std::string& text);

struct ExportOptions {
  /// What is exported, a function of batches; unset: the module's predict_step.
  BatchFunction function = {};
  /// Sizes that may change: the number of samples, by default. Empty: none.
  std::vector<DynamicSize> dynamic = {{.name = "batch"}};
  /// Records the module in evaluation and without gradients, for use; else in training mode, so that it can be trained
  /// on.
  bool inference = false;
};

struct OnnxOptions {
  /// Goes into the model's metadata_props.
  std::vector<std::pair<std::string, std::string>> metadata = {};
  /// If set, for a network whose first output is [samples, classes]: the model has a last output `class` [samples], the
  /// name of the largest entry of each sample, as a string.
  std::vector<std::string> class_names = {};
};

/// A network as a list of ATen's operators with its weights, as Python's torch.export makes it.
class ExportedNetwork {
 public:
  class Impl;
  explicit ExportedNetwork(std::unique_ptr<Impl> impl);
  ~ExportedNetwork();
  ExportedNetwork(ExportedNetwork&& other) noexcept;
  ExportedNetwork& operator=(ExportedNetwork&& other) noexcept;

  /// Returns the names of the inputs, which are entries of the example that the function reads, and of the outputs.
  const std::vector<std::string>& input_names() const;
  const std::vector<std::string>& output_names() const;
  /// Runs the operators on tensors of any sizes that the network takes.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const;
  /// Writes a .pt2 that ProgramModule and Python's torch.export.load (of the LibTorch that levin is built with) open.
  /// The file appears whole or not at all. Throws as AtomicFile does.
  void save(const std::filesystem::path& path) const;
  /// Writes an ONNX model of opset 18, for a network that was recorded with `inference`. Weights go to a file beside
  /// it, with ".data" behind its name, if they have more than 2 GB. Throws levin::UsageError, which names the operator
  /// and its layer, for what ONNX lacks or levin does not write.
  void save_onnx(const std::filesystem::path& path, const OnnxOptions& options = {}) const;
  /// Rounds the weights of linear layers, convolutions and embeddings of a network that was recorded with `inference`
  /// to int8, with a scale for each output channel. With batches to calibrate by, also the inputs of linear layers and
  /// convolutions and the results of convolutions, to int8 with one scale each, between the least and the most that the
  /// batches show; then onnxruntime computes in whole numbers. `run` computes with the rounded numbers, `save_onnx`
  /// writes them as int8 (QuantizeLinear and DequantizeLinear). The module's weights stay as they are. Throws
  /// levin::UsageError if there is no such weight, if the weights are not of float32, or if it was called before.
  void quantize(const std::vector<Batch>& calibration = {});

 private:
  std::unique_ptr<Impl> impl_;
};

/// Records what `module` computes of `example`, without Python: the operators of options.function or predict_step, with
/// parameters and buffers under the module's names. The network shares their memory. The function is called at several
/// sizes; buffers and random numbers are afterwards as before. The target is no input.
///
/// Throws levin::UsageError for a batch with lists or of the program's own type, for a module with adapters, and, with
/// the operator, its layer and what to do, for a function that reads values of tensors (item(), an if), does something
/// else for another size, or calls what is no operator of ATen.
ExportedNetwork export_program(LightningModule& module, const Batch& example, const ExportOptions& options = {});
/// The same of any module; options.function is needed.
ExportedNetwork export_program(torch::nn::Module& module, const Batch& example, const ExportOptions& options);

}  // namespace levin
