#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/files/mapped_file.h>

#include <filesystem>
#include <map>
#include <string>

namespace levin::data {

/// Maps the array of a .npy file into memory: values are read from the disk when they are touched, and the tensor keeps
/// the mapping alive. Writes to the tensor do not reach the file.
///
/// Fortran order becomes strides. Big-endian values, and values not aligned to their size, are copied. Throws
/// levin::UsageError that names the file and the byte, as parse_npy_header does, and for a bool other than 0 and 1.
at::Tensor map_npy(const std::filesystem::path& path);

/// Returns the same for an array in memory: `bytes` uint8 [bytes], whose memory the tensor shares if possible. `name`
/// is used in messages. If the bytes lie in the mapping of `file`, the header is read through `file`, and the values
/// are not touched.
at::Tensor npy_tensor(const at::Tensor& bytes, const std::string& name, const MappedFile* file = nullptr);

/// Reads the arrays of a .npz file into memory, by name without `.npy`. Throws levin::UsageError as map_npy does, and
/// for members that are no arrays or whose checksum is wrong.
std::map<std::string, at::Tensor> read_npz(const std::filesystem::path& path);

/// Writes a tensor on any device as a .npy file in C order. Throws levin::UsageError if the file cannot be written and
/// for a dtype that NumPy lacks.
void write_npy(const std::filesystem::path& path, const at::Tensor& tensor);

}  // namespace levin::data
