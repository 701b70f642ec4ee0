#pragma once
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace levin::cli {

/// Prints what a checkpoint or a file of weights holds: tensors with shape, dtype and size, and the other values. With
/// `json` as one JSON object. Reads no tensor's values.
void ckpt_ls(std::ostream& out, const std::filesystem::path& file, bool json);

/// Prints what differs between two files: names in one alone, shapes, dtypes, values further apart than `tolerance`.
/// Where one holds weights alone, the other's weights are compared to them. Returns whether nothing differs.
bool ckpt_diff(std::ostream& out, const std::filesystem::path& a, const std::filesystem::path& b, double tolerance);

/// Reads files whole and compares every checksum in them; prints a line for each. Returns whether all are whole.
bool ckpt_verify(std::ostream& out, const std::vector<std::filesystem::path>& files);

struct ConvertOptions {
  bool weights_only = false;  ///< of a checkpoint, keep the state dict alone
  std::string dtype = {};     ///< "fp16", "bf16" or "fp32": what floating-point weights become; empty: they stay
  std::string prefix = {};    ///< keep only the weights whose names begin so, without it
};

/// Writes `in` as `out`, each a PyTorch or a safetensors file; the end of out's name decides. Prints what was done.
/// Throws levin::UsageError for a name that tells nothing, and options that do not fit the file.
void ckpt_convert(std::ostream& out, const std::filesystem::path& in, const std::filesystem::path& to,
                  const ConvertOptions& options);

}  // namespace levin::cli
