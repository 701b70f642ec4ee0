#pragma once
#include <levin/core/state/format/pickle_access.h>

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <functional>
#include <string>

namespace levin {

/// Returns the storage `key`, of at least `bytes` bytes, for tensors of `type`. Each call with the same key returns the
/// same storage.
using StorageLoader = std::function<c10::Storage(const std::string& key, size_t bytes, at::ScalarType type)>;

/// Returns whether `node` describes a tensor of PyTorch (including parameters, sparse COO tensors and bare storages) or
/// of numpy.
bool is_pickled_tensor(const PickleNode& node, const PickleAccess& access);

/// Returns the tensor that `node` describes, on the CPU and without requires_grad. Throws levin::UsageError if the
/// tensor does not fit its storage or is of an unsupported kind.
at::Tensor tensor_from_pickle(const PickleNode& node, const PickleAccess& access, const StorageLoader& load_storage);

/// Returns a numpy scalar as a 0-dim tensor.
at::Tensor tensor_from_numpy_scalar(const PickleNode& node, const PickleAccess& access);

/// Returns `name` with numpy 2's module `numpy._core` replaced by its old name `numpy.core`.
std::string without_numpy_2(const std::string& name);

}  // namespace levin
