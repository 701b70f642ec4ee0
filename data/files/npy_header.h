#pragma once
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

/// What stands before the values of a .npy array. The format is described at numpy.lib.format.
struct NpyHeader {
  at::ScalarType dtype = at::kFloat;
  bool big_endian = false;
  /// Whether the first index runs fastest.
  bool fortran_order = false;
  std::vector<int64_t> shape = {};
  /// Bytes before the values, and of the values.
  int64_t data_offset = 0, data_bytes = 0;
};

/// Where the values begin, by the first bytes of an array; 0 where they do not tell.
int64_t npy_data_offset(std::string_view bytes);

/// Reads the header of an array of `total` bytes, version 1, 2 or 3, which `bytes` holds from its beginning at least as
/// far as its values. `name` stands in messages.
///
/// Throws levin::UsageError that names the byte: no .npy array, a broken header, a dtype that no tensor has (Python
/// objects, text, times, fields by name), and a shape that asks for more or fewer bytes than there are.
NpyHeader parse_npy_header(std::string_view bytes, const std::string& name, int64_t total);

/// The header, version 1, of a C-ordered array; its length is a multiple of 64. Throws levin::UsageError for a dtype
/// that NumPy lacks.
std::string npy_header(at::ScalarType dtype, const std::vector<int64_t>& shape);

}  // namespace levin::data
