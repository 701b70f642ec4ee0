#pragma once
#include <levin/modules/transformers/pretrained_tensors.h>
#include <torch/nn/module.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace levin::nn {

/// How the tensors of files belong to the parameters of a module.
struct TensorRules {
  std::string family = {};  ///< for messages: "llama"
  /// Whether a tensor that is no parameter may be left where it is. Unset: none may.
  std::function<bool(const std::string& name)> is_left = {};
  /// Whether a parameter may keep its values where the files have none for it. Unset: none may.
  std::function<bool(const std::string& name)> may_be_new = {};
  bool replaces = false;  ///< such a parameter keeps them also where the files have another shape
  /// Returns a parameter in the shape that files have; shares the memory. Unset: as it is.
  std::function<at::Tensor(const at::Tensor& parameter, const std::string& name)> as_in_files = {};
};

/// What files and a module had not in common.
struct TensorReport {
  std::vector<std::string> kept;  ///< parameters that have their own values
  std::vector<std::string> left;  ///< tensors that were not taken
};

/// Copies the tensors into the module's parameters, which keep their dtype. Throws levin::UsageError that lists the
/// parameters that are missing in the files, the tensors that belong to none, and those of another shape or of a dtype
/// that is no floating one; the module is then unchanged. If this thread has adapters::LateWeights, these get what to
/// copy, and the tensors are those of mapped files.
TensorReport load_tensors(torch::nn::Module& module, const PretrainedTensors& tensors, const TensorRules& rules,
                          const std::filesystem::path& folder);

/// Throws levin::UsageError if a model has far more than the files' weights: what must hold before memory is taken for
/// it. `least`: the number of weights of its linear layers and tables.
void check_weight_count(double least, const PretrainedTensors& tensors, const std::filesystem::path& folder);

/// Returns the dtype of the tensors that are weights. Throws levin::UsageError if there are several.
at::ScalarType dtype_of_pretrained(const PretrainedTensors& tensors, const std::filesystem::path& folder);

/// Returns whether weights may have this dtype: a floating one of at least 16 bits.
bool is_weight_dtype(at::ScalarType dtype);

/// A list for people: the first names, and how many there are.
std::string first_names(const std::vector<std::string>& names);
/// Returns a line of a message, "what: names", after a line break; nothing for no names.
std::string line_of_names(const char* what, const std::vector<std::string>& names);

}  // namespace levin::nn
