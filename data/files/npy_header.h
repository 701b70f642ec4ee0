#pragma once
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

/// The header of a .npy array. The format is described at numpy.lib.format.
struct NpyHeader {
  at::ScalarType dtype = at::kFloat;
  bool big_endian = false;
  /// Whether the first index varies fastest.
  bool fortran_order = false;
  std::vector<int64_t> shape = {};
  /// Bytes before the values, and size of the values in bytes.
  int64_t data_offset = 0, data_bytes = 0;
};

/// Returns the offset of the values from the first bytes of an array; 0 if these bytes do not tell.
int64_t npy_data_offset(std::string_view bytes);

/// Reads the header of an array of `total` bytes, version 1, 2 or 3. `bytes` holds the start of the array, at least up
/// to its values. `name` is used in messages.
///
/// Throws levin::UsageError that names the byte if this is no .npy array, the header is broken, the dtype has no tensor
/// equivalent (Python objects, text, times, named fields), or the shape does not match the number of bytes.
NpyHeader parse_npy_header(std::string_view bytes, const std::string& name, int64_t total);

/// Returns the header, version 1, of a C-ordered array; its length is a multiple of 64. Throws levin::UsageError for a
/// dtype that NumPy lacks.
std::string npy_header(at::ScalarType dtype, const std::vector<int64_t>& shape);

}  // namespace levin::data
