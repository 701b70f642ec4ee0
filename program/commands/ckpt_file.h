#pragma once
#include <levin/core/state/safetensors.h>
#include <levin/core/state/sharded_state.h>
#include <levin/core/state/state.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace levin::cli {

/// A checkpoint or a file of weights, in any format.
struct CkptFile {
  State state = {};
  bool is_safetensors = false;
  SafetensorsMetadata metadata = {};
  std::filesystem::path path = {};                ///< of this machine
  std::vector<std::filesystem::path> parts = {};  ///< of a sharded checkpoint, in the order of the ranks
  uintmax_t bytes = 0;                            ///< of the file and its parts
};

/// Reads a file of `save_state`, torch.save or safetensors; the format is detected from the content. Without
/// `verify_checksums` no tensor values are read, so bool tensors of a damaged file may hold more than 0 and 1. `join`:
/// how divided tensors become whole (LoadStateOptions). Throws levin::UsageError like `load_state` and
/// `load_safetensors`.
CkptFile read_ckpt_file(const std::filesystem::path& path, bool verify_checksums, const JoinTensor& join = {});

/// One value of a state tree: a tensor, a number or text, or a list of only numbers and texts.
struct CkptEntry {
  std::string path;  ///< keys and indices from the root: "state_dict/net.0.weight"
  const State* value;
};

/// Returns all values of a tree, in order. The entries point into `state`.
std::vector<CkptEntry> entries_of(const State& state);

/// Returns "float32".
std::string dtype_text(const at::Tensor& tensor);
/// Returns "float32 [64, 784]".
std::string tensor_text(const at::Tensor& tensor);
/// Returns a value on one line, cut after `width` bytes.
std::string value_text(const State& value, size_t width = 72);
nlohmann::ordered_json value_json(const State& value);
/// Returns "407.1 kB".
std::string size_text(uint64_t bytes);

}  // namespace levin::cli
