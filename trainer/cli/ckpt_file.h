#pragma once
#include <levin/trainer/core/safetensors.h>
#include <levin/trainer/core/state.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace levin::cli {

/// A checkpoint or a file of weights, of whatever format.
struct CkptFile {
  State state = {};
  bool is_safetensors = false;
  SafetensorsMetadata metadata = {};

  /// The state dict of a checkpoint; nullptr where the file is none.
  const State* state_dict() const;
};

/// Reads a file of `save_state`, torch.save or safetensors; its content tells which. Without `verify_checksums` no
/// tensor's values are read: bytes of bool tensors of a damaged file may then hold more than 0 and 1.
/// Throws levin::UsageError as `load_state` and `load_safetensors` do.
CkptFile read_ckpt_file(const std::filesystem::path& path, bool verify_checksums);

/// One value of a state tree: a tensor, a number or text, or a list of numbers and texts alone.
struct CkptEntry {
  std::string path;  ///< keys and indices on the way to it: "state_dict/net.0.weight"
  const State* value;
};

/// All values of a tree, in its order; they point into `state`.
std::vector<CkptEntry> entries_of(const State& state);

/// "float32"
std::string dtype_text(const at::Tensor& tensor);
/// "float32 [64, 784]"
std::string tensor_text(const at::Tensor& tensor);
/// A value on one line; what is longer than `width` is cut.
std::string value_text(const State& value, size_t width = 72);
nlohmann::ordered_json value_json(const State& value);
/// "407.1 kB"
std::string size_text(uint64_t bytes);

}  // namespace levin::cli
