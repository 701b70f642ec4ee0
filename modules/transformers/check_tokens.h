#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace levin::nn {

/// Returns whether the dtype is one of token ids: int64 or int32.
bool is_whole_numbers(const at::Tensor& tensor);

/// Throws levin::UsageError for a value outside [0, limit), on the CPU alone, since elsewhere the check would wait for
/// the device. `module`, `what` and `of_what` are for the message: "CausalLM: token id 9 is not in the vocabulary".
void check_value_range(const char* module, const at::Tensor& values, int64_t limit, const char* what,
                       const char* of_what);

}  // namespace levin::nn
