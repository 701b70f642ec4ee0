#pragma once
#include <c10/core/ScalarType.h>

#include <optional>
#include <string_view>

namespace levin {

/// Python's names for one dtype.
struct PythonDtype {
  at::ScalarType type;
  const char* name;           ///< as in `torch.float32`
  const char* storage_class;  ///< as in `torch.FloatStorage`; nullptr if torch.save writes an untyped storage
  const char* numpy_code;     ///< as in `numpy.dtype("f4")`; nullptr if numpy has none
};

/// Returns the names of `type`; nullptr for a dtype that levin does not write to files (quantized and sub-byte ones).
const PythonDtype* find_dtype(at::ScalarType type);
const PythonDtype* find_dtype_by_name(std::string_view name);
const PythonDtype* find_dtype_by_storage_class(std::string_view storage_class);
const PythonDtype* find_dtype_by_numpy_code(std::string_view numpy_code);

}  // namespace levin
