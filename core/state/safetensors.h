#pragma once
#include <levin/core/state/state.h>

#include <filesystem>
#include <map>
#include <string>

namespace levin {

/// The text metadata of a safetensors file.
using SafetensorsMetadata = std::map<std::string, std::string>;

/// Reads a safetensors file as a dict of its tensors, in file order, on the CPU. `metadata`, if not null, receives the
/// file's metadata.
///
/// The file is mapped into memory, and a tensor's bytes are read when they are used; writes to a tensor stay in this
/// process. Each tensor has a separate storage. A tensor whose bytes are not aligned for its dtype is copied. Throws
/// levin::UsageError that names the file, and the place in it, if the file is missing, damaged, or of another format.
//// Format: https://huggingface.co/docs/safetensors
State load_safetensors(const std::filesystem::path& path, SafetensorsMetadata* metadata = nullptr);

/// Writes a dict of tensors, of any device, as a safetensors file: the widest dtypes first, so that each tensor is
/// aligned. Every tensor is written whole and contiguous, even if it shares memory with another. The file appears whole
/// or not at all.
///
/// Throws levin::UsageError that names the key if a value is not a dense tensor or has a dtype that the format lacks,
/// and if no file can be made at `path`; levin::Error if writing fails.
void save_safetensors(const State& state, const std::filesystem::path& path,
                      const SafetensorsMetadata& metadata = {{"format", "pt"}});

/// Returns whether the file starts like a safetensors file: a length that fits the file, then a JSON object. False if
/// it cannot be read.
bool is_safetensors_file(const std::filesystem::path& path);

}  // namespace levin
