#pragma once
#include <ATen/core/Tensor.h>
#include <levin/program/guess/guess.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::cli {

/// What a model is to predict from arrays.
struct ArrayTarget {
  int64_t classes = 0;  ///< 0: numbers
  int64_t numbers = 1;  ///< of each sample, without classes
};

/// Returns "float32 [60, 3, 32, 32]".
std::string shape_text(const at::Tensor& array);
/// Finds out what targets are: int64 [samples] from 0 up are classes, floating [samples] or [samples, n] numbers. Stops
/// the guess for others; `name` is that of the file.
std::optional<ArrayTarget> array_target(const at::Tensor& target, const std::string& name, Guess& guess);
/// Sets a model for samples of this shape (without the dimension of the samples), or stops the guess. `dtype` is that
/// of the inputs.
void set_array_model(const std::vector<int64_t>& sample, at::ScalarType dtype, const ArrayTarget& target,
                     const std::string& name, Guess& guess);

}  // namespace levin::cli
