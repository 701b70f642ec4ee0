#pragma once
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/format/state_to_pickle.h>
#include <levin/core/state/sharded_state.h>
#include <levin/core/state/state.h>

#include <filesystem>
#include <string>

namespace levin {

/// Writes a state tree as a file that Python's `torch.load(path, weights_only=True)` opens, also with `mmap=True`.
///
/// Tensors of any device are written as CPU tensors without requires_grad. Tensors that share a storage still share it
/// when loaded, and only the part of a storage that the tree's tensors reach is written. The file appears whole or not
/// at all. Throws levin::UsageError if no file can be made at `path`, levin::Error if a tensor cannot be saved or
/// writing fails.
void save_state(const State& state, const std::filesystem::path& path);

/// Writes a dict with attributes (`state_to_pickle`): in Python `torch.load(path).NAME` is one, and load_state_dict
/// takes the dict as it takes one without.
void save_state(const State& state, const std::filesystem::path& path, const State& attributes);

/// Writes a state that is pickled already (`state_to_pickle`), and whose storages may have been copied since.
void save_pickled_state(const PickledState& state, const std::filesystem::path& path);

/// Returns the bytes of the file that `save_state` writes.
std::string save_state_bytes(const State& state, const PickleOptions& options = {});

struct LoadStateOptions {
  /// If the file holds a dict with this key, only the value under it is read.
  std::string key = {};
  /// Checks the checksums of what is read. Without it, a file of any size loads in milliseconds, since no tensor's
  /// values are read before the caller uses them; bool tensors of a damaged file may then hold values other than 0 and
  /// 1.
  bool verify_checksums = true;
  /// How tensors that a sharded checkpoint divides among its parts become whole; none: joined_tensor.
  JoinTensor join = {};
};

/// Reads what `save_state` or Python's `torch.save` wrote: state dicts, optimizers' states, PyTorch Lightning's
/// checkpoints, and any tree of plain values (listed in `pickle_to_state.h`). Tensors are on the CPU; nothing that the
/// file names is ever called.
///
/// Tensors are views of the file, mapped into memory: the system reads pages as they are used, and writes to a tensor
/// change only this process's view. The file may be replaced or removed meanwhile, but not truncated in place.
///
/// Throws levin::UsageError that names the file, and the place in it, if the file is missing, damaged, of another
/// format, or holds something that is not a plain value. Whatever a file claims, no more memory is allocated than a
/// small multiple of its contents plus 64 MB.
///
/// A sharded checkpoint is read with its parts (checkpoint_parts.h), and is as one that was saved in one file.
State load_state(const std::filesystem::path& path, const LoadStateOptions& options = {});

/// Calls `load_state` with the option `key`.
State load_state(const std::filesystem::path& path, const std::string& key);

/// Reads one entry of the dict in a file, or its attribute of that name; none if it has neither. Throws as load_state.
State load_entry(const std::filesystem::path& path, const std::string& key);

/// Reads a state from a file's bytes in memory; its tensors keep `file.owner`.
State load_state_bytes(const FileBytes& file, const LoadStateOptions& options = {});

}  // namespace levin
