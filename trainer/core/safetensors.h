#pragma once
#include <levin/trainer/core/state.h>

#include <filesystem>
#include <map>
#include <string>

namespace levin {

/// The text that a safetensors file keeps beside its tensors.
using SafetensorsMetadata = std::map<std::string, std::string>;

/// Reads a safetensors file: a dict of its tensors, in the order in which the file holds them, on the CPU. `metadata`,
/// where given, receives the file's own text.
///
/// The file is mapped into memory and read when a tensor is; what is written to a tensor stays in this process. Each
/// tensor has a storage of its own. A tensor whose bytes are not aligned for its dtype is copied.
/// Throws levin::UsageError that names the file, and the place in it, where it is missing, damaged, or of another
/// format. Format: https://huggingface.co/docs/safetensors
State load_safetensors(const std::filesystem::path& path, SafetensorsMetadata* metadata = nullptr);

/// Writes a dict of tensors, of any device, as a safetensors file: those of the widest dtypes first, so that each is
/// aligned. Every tensor is written whole and contiguous, also those that share memory. The file appears whole or not
/// at all.
///
/// Throws levin::UsageError that names the key where a value is no dense tensor or of a dtype that the format lacks,
/// and where no file can be made at `path`; levin::Error where writing fails.
void save_safetensors(const State& state, const std::filesystem::path& path,
                      const SafetensorsMetadata& metadata = {{"format", "pt"}});

/// Whether the file begins as a safetensors file does: a length that fits the file, then a JSON object. False where it
/// cannot be read.
bool is_safetensors_file(const std::filesystem::path& path);

}  // namespace levin
