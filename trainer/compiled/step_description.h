#pragma once
#include <levin/trainer/compiled/step_input.h>

#include <c10/core/ScalarType.h>
#include <levin/core/state/file_bytes.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace levin::compiled {

/// What the package of a compiled step says of itself, in its file levin_step.json.
struct StepDescription {
  /// A size or stride: `per_sample` * N + `fixed` for a batch of N samples.
  struct Size {
    int64_t per_sample = 0, fixed = 0;
    int64_t of(int64_t samples) const { return per_sample * samples + fixed; }
  };
  struct Input {
    std::string name = {};
    InputKind kind = InputKind::Parameter;
    at::ScalarType dtype = at::kFloat;
    std::vector<Size> shape = {}, strides = {};

    /// Returns whether `tensor` is what the compiled code takes, but for its strides.
    bool takes(const at::Tensor& tensor, int64_t samples) const;
    bool has_strides(const at::Tensor& tensor, int64_t samples) const;
    /// Returns a copy of `tensor` with these strides.
    at::Tensor copy_of(const at::Tensor& tensor, int64_t samples) const;
    /// Returns "float32 [64, 784]".
    std::string to_text(int64_t samples) const;
  };

  std::string torch = {}, levin = {};  ///< versions
  std::string model = {}, precision = {};
  std::string digest = {};  ///< of the traced step, as StepTrace::digest
  std::vector<std::string> cpu = {};
  std::vector<Input> inputs = {};
  std::vector<std::string> logged = {};
  bool has_weight = false;
  std::vector<size_t> gradients = {};           ///< the inputs whose gradients the step returns
  int64_t batch_size = 0;                       ///< of the batch that was traced
  int64_t least_samples = 0, most_samples = 0;  ///< in a batch
  int64_t threads = 0;                          ///< that the code uses; 0: as many as the run has
  std::vector<std::string> draws = {};          ///< the operators that draw random numbers
  /// StepOptimizer::describe of the optimizer, if the code makes its steps too; else null.
  nlohmann::json optimizer = nullptr;

  bool makes_optimizer_steps() const { return !optimizer.is_null(); }
  /// Returns the number of results: loss, weight, logged tensors, and gradients unless the code uses them up.
  size_t results() const { return 1 + has_weight + logged.size() + (makes_optimizer_steps() ? 0 : gradients.size()); }
};

/// Reads the description of a package, whose checksums are compared; nothing of it is run. Throws levin::UsageError if
/// the file is missing, damaged, or no package of `levin compile`.
StepDescription read_step_description(const std::filesystem::path& path);
/// The same of a package whose bytes are in memory, under the file's name.
StepDescription read_step_description(const FileBytes& file);

/// Throws levin::UsageError if the package was made for another LibTorch, or for a CPU with instructions that this one
/// lacks.
void check_machine(const StepDescription& description, const std::filesystem::path& path);

/// Throws levin::UsageError, which names the first difference, unless `inputs`, those of a module and a batch, are the
/// parameters, buffers and entries of the batch that the package takes. Sizes of the batch are not compared.
void check_inputs(const StepDescription& description, const std::vector<StepInput>& inputs,
                  const std::filesystem::path& path);

/// Returns the end of an error text: the command that compiles the package at `path` again.
std::string recompile_advice(const std::filesystem::path& path);

}  // namespace levin::compiled
