#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace levin::data {

/// The file `path`, or else `path` with `.gz`; nothing where neither is a file.
std::optional<std::filesystem::path> find_idx(const std::filesystem::path& path);

/// Reads an idx file of bytes, plain or gzip, as uint8 on the CPU with the file's `dims` dimensions.
///
/// Throws levin::UsageError that names the file: not readable, another kind of file, cut off, broken, or longer than
/// its header says. The format is described at the MNIST page (LeCun, Cortes, Burges).
at::Tensor read_idx(const std::filesystem::path& path, int64_t dims);

/// Writes `values`, uint8 on the CPU, as an idx file; gzip where the name ends in `.gz`. Throws levin::UsageError.
void write_idx(const std::filesystem::path& path, const at::Tensor& values);

}  // namespace levin::data
