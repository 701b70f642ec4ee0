#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <vector>

namespace levin::compiled {

/// The compiled code of a package, loaded into the process.
class CompiledCode {
 public:
  virtual ~CompiledCode() = default;
  /// Calls the code. It checks nothing: the inputs must have the dtypes, shapes and strides of the description.
  virtual std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) = 0;
};

/// Loads the code of a package. From then on it can do whatever the program can. Throws levin::UsageError if it cannot
/// be loaded, and if this LibTorch has no AOTInductor.
std::unique_ptr<CompiledCode> load_compiled_code(const std::filesystem::path& path);

}  // namespace levin::compiled
