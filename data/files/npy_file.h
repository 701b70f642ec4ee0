#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/files/mapped_file.h>
#include <levin/data/files/npy_header.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace levin::data {

class ArchiveReader;

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

/// Returns what the headers of the arrays of a .npz file say, by name without `.npy`. Throws levin::UsageError as
/// map_npy does, and for members that are no arrays.
std::map<std::string, NpyHeader> npz_headers(const std::filesystem::path& path);

/// Reads the arrays of a .npz file into memory, by name without `.npy`: those in `names`, or all if there is no name.
/// Throws levin::UsageError as npz_headers does, before an array is unpacked whose header and archive contradict each
/// other, and if its checksum is wrong.
std::map<std::string, at::Tensor> read_npz(const std::filesystem::path& path, const std::set<std::string>& names = {});

/// Reads the header of the member that `reader` is at, an array, before its values are unpacked. Throws
/// levin::UsageError as parse_npy_header does.
NpyHeader packed_npy_header(ArchiveReader& reader, const std::string& name);

/// Writes a tensor on any device as a .npy file in C order. What was there stays until the new file is whole. Throws
/// levin::UsageError if no file can be made there and for a dtype that NumPy lacks, levin::Error if writing fails.
void write_npy(const std::filesystem::path& path, const at::Tensor& tensor);

}  // namespace levin::data
