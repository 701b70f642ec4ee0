#pragma once
#include <levin/core/state/format/pickle_reader.h>
#include <levin/core/state/format/pickle_tensors.h>
#include <levin/core/state/state.h>

#include <string>

namespace levin {

/// Converts an object of a pickle to a plain value, by a fixed list of Python's, PyTorch's and numpy's types.
///
/// Dicts of any known class become dicts, sets become lists, paths, dtypes, devices, classes and functions become text,
/// numpy scalars numbers, numpy arrays and parameters tensors. `pickle_bytes`, the pickle's size, limits how much
/// memory shared objects may expand to. Throws levin::UsageError, with the file and the byte, for an object that is not
/// a plain value and for a tensor that does not fit its storage.
State pickle_to_state(const PickleNode& node, const PickleAccess& access, const StorageLoader& load_storage,
                      size_t pickle_bytes);

}  // namespace levin
