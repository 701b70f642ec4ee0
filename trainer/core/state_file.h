#pragma once
#include <levin/trainer/core/file_bytes.h>
#include <levin/trainer/core/state.h>
#include <levin/trainer/core/state_to_pickle.h>

#include <filesystem>
#include <string>

namespace levin {

/// Writes a state tree as a file that Python's `torch.load(path, weights_only=True)` opens, also with `mmap=True`.
///
/// Tensors of any device are written as CPU tensors without requires_grad; those that share a storage go on sharing it,
/// and of a storage only the part that the tree's tensors reach is written. The file appears whole or not at all.
/// Throws levin::UsageError where no file can be made at `path`, levin::Error where a tensor cannot be saved or writing
/// fails.
void save_state(const State& state, const std::filesystem::path& path);

/// The same for a state that is pickled already (`state_to_pickle`), and whose memory may be a copy made since.
void save_pickled_state(const PickledState& state, const std::filesystem::path& path);

/// The bytes of the file that `save_state` writes.
std::string save_state_bytes(const State& state);

struct LoadStateOptions {
  /// Where the file holds a dict with this key, the value under it alone is read, whatever else is there.
  std::string key = {};
  /// Compares what is read with its checksums. Without, a file of any size is listed in milliseconds: no value of a
  /// tensor is looked at before the caller does, so that bool tensors of a damaged file may hold more than 0 and 1.
  bool verify_checksums = true;
};

/// Reads what `save_state` or Python's `torch.save` wrote: state dicts, optimizers' states, PyTorch Lightning's
/// checkpoints, and any tree of plain values (`pickle_to_state.h` says which). Tensors are on the CPU; nothing that the
/// file names is ever called.
///
/// Tensors are views of the file, mapped into memory: the system reads what is touched, writing to one changes this
/// process's view alone, and the file may be replaced or removed meanwhile, but not be cut short in place.
///
/// Throws levin::UsageError that names the file, and the place in it, where it is missing, damaged, of another format,
/// or holds what is no plain value. Whatever a file claims, at most 64 MB more than a small multiple of what it holds
/// are ever asked for.
State load_state(const std::filesystem::path& path, const LoadStateOptions& options = {});

/// As `load_state` with the option `key`.
State load_state(const std::filesystem::path& path, const std::string& key);

/// The same from a file's bytes in memory, which `file.owner` keeps for the tensors that lie in them.
State load_state_bytes(const FileBytes& file, const LoadStateOptions& options = {});

}  // namespace levin
