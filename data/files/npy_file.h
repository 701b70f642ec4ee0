#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/files/mapped_file.h>

#include <filesystem>
#include <map>
#include <string>

namespace levin::data {

/// The array of a .npy file, mapped into memory: values are read from the disk as they are touched, and the tensor
/// keeps the mapping alive. What is written into the tensor does not reach the file.
///
/// Fortran order becomes strides. Big-endian values, and values that do not stand at a multiple of their size, are
/// copied. Throws levin::UsageError that names the file and the byte: see parse_npy_header; also for a bool other than
/// 0 and 1.
at::Tensor map_npy(const std::filesystem::path& path);

/// The same for an array in memory: `bytes` uint8 [bytes], whose memory the tensor shares where it can. `name` stands
/// in messages. Where the bytes lie in the mapping of `file`, the header is read by it, and the values are not touched.
at::Tensor npy_tensor(const at::Tensor& bytes, const std::string& name, const MappedFile* file = nullptr);

/// The arrays of a .npz file, by name without `.npy`, read into memory. Throws levin::UsageError as map_npy, and for
/// members that are no arrays or whose checksum is wrong.
std::map<std::string, at::Tensor> read_npz(const std::filesystem::path& path);

/// Writes a tensor, on any device, as a .npy file in C order. Throws levin::UsageError for a file that cannot be
/// written and for a dtype that NumPy lacks.
void write_npy(const std::filesystem::path& path, const at::Tensor& tensor);

}  // namespace levin::data
