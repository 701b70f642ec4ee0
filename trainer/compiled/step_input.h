#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

namespace levin::compiled {

/// What a tensor is to the step that uses it.
enum class InputKind { Parameter, Frozen, Buffer, Batch };
/// Returns "parameter", "frozen", "buffer", "batch".
std::string_view to_string(InputKind kind);

struct StepInput {
  std::string name = {};  ///< as in a state dict; of a batch, the entry's name
  InputKind kind = InputKind::Parameter;
  at::Tensor tensor = {};
  bool is_written = false;  ///< a buffer that the step changed
};

}  // namespace levin::compiled
