#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace levin::data {

/// Returns `path` if it is a file, or else `path` with `.gz`; nothing if neither is a file.
std::optional<std::filesystem::path> find_idx(const std::filesystem::path& path);

/// Reads an idx file of bytes, plain or gzip, as uint8 on the CPU. The file must have `dims` dimensions.
///
/// Throws levin::UsageError that names the file if it is not readable, not such a file, truncated, broken, or longer
/// than its header states. The format is described at the MNIST page (LeCun, Cortes, Burges).
at::Tensor read_idx(const std::filesystem::path& path, int64_t dims);

/// Writes `values`, uint8 on the CPU, as an idx file, compressed if the name ends in `.gz`. Throws levin::UsageError.
void write_idx(const std::filesystem::path& path, const at::Tensor& values);

}  // namespace levin::data
