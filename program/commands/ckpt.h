#pragma once
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace levin::cli {

/// Prints the contents of a checkpoint or a file of weights: tensors with shape, dtype and size, and the other values.
/// With `json`, prints one JSON object. Does not read tensor values.
void ckpt_ls(std::ostream& out, const std::filesystem::path& file, bool json);

/// Prints the differences between two files: names in only one, shapes, dtypes, values further apart than `tolerance`.
/// If one file holds only weights, it is compared with the other's weights. Returns whether nothing differs.
bool ckpt_diff(std::ostream& out, const std::filesystem::path& a, const std::filesystem::path& b, double tolerance);

/// Reads the files completely, compares every checksum and prints a line per file. Returns whether all are intact.
bool ckpt_verify(std::ostream& out, const std::vector<std::filesystem::path>& files);

struct ConvertOptions {
  bool weights_only = false;  ///< of a checkpoint, keep only the state dict
  std::string dtype = {};     ///< "fp16", "bf16" or "fp32": the dtype for floating-point weights; empty: unchanged
  std::string prefix = {};    ///< keep only the weights whose names start with it, and strip it
  int64_t shards = 0;         ///< number of parts of a sharded checkpoint; 0: one file
};

/// Converts `in` to `to`, each a PyTorch or a safetensors file; the extension of `to` decides its format. A sharded
/// checkpoint becomes one file, and any file a sharded one with the option `shards`. Prints a
/// summary to `out`. Throws levin::UsageError for an unknown extension, and for options that do not fit the file.
void ckpt_convert(std::ostream& out, const std::filesystem::path& in, const std::filesystem::path& to,
                  const ConvertOptions& options);

}  // namespace levin::cli
