#pragma once
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace levin::program {

// The numbers by which torch.export's schema calls dtypes, layouts and memory formats.
// Source: torch/_export/serde/schema.py of PyTorch.

/// Throw levin::UsageError for what the schema, or levin, does not know.
at::ScalarType dtype_of(int64_t number);
int64_t number_of(at::ScalarType dtype);
c10::MemoryFormat memory_format_of(int64_t number);
int64_t number_of(c10::MemoryFormat format);

/// The layout of tensors with strides, the only one that levin knows.
inline constexpr int64_t kStridedNumber = 7;

}  // namespace levin::program
