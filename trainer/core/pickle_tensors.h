#pragma once
#include <levin/trainer/core/pickle_access.h>

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <functional>
#include <string>

namespace levin {

/// Gives the memory of the storage `key`, of at least `bytes` bytes, for tensors of `type`; the same one at each call
/// with one key.
using StorageLoader = std::function<c10::Storage(const std::string& key, size_t bytes, at::ScalarType type)>;

/// Whether `node` describes a tensor: of PyTorch (parameters, sparse COO tensors and bare storages too) or of numpy.
bool is_pickled_tensor(const PickleNode& node, const PickleAccess& access);

/// The tensor that `node` describes, on the CPU and without requires_grad. Throws levin::UsageError where it does not
/// fit its storage, or is of a kind that levin does not know.
at::Tensor tensor_from_pickle(const PickleNode& node, const PickleAccess& access, const StorageLoader& load_storage);

/// A numpy scalar as a 0-dim tensor.
at::Tensor tensor_from_numpy_scalar(const PickleNode& node, const PickleAccess& access);

/// numpy 2 moved its internals, `numpy.core` became `numpy._core`; this gives the old name of both.
std::string without_numpy_2(const std::string& name);

}  // namespace levin
