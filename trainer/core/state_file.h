#pragma once
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

/// Reads what `save_state` or Python's `torch.save` wrote: state dicts, optimizers' states, PyTorch Lightning's
/// checkpoints, and any tree of plain values (`pickle_to_state.h` says which). Tensors are on the CPU; nothing that the
/// file names is ever called.
///
/// Throws levin::UsageError that names the file, and the place in it, where it is missing, damaged, of another format,
/// or holds what is no plain value.
State load_state(const std::filesystem::path& path);

/// As `load_state`; but where the file holds a dict with `key`, reads the value under it alone, whatever else is there.
State load_state(const std::filesystem::path& path, const std::string& key);

}  // namespace levin
