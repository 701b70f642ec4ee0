#pragma once
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace levin {

/// Decides which memory a file of several tensors needs: tensors that share a storage still share it, only the part of
/// a storage that these tensors reach is written, and a tensor that is alone on a larger storage is written
/// contiguously.
class TensorStorages {
 public:
  /// A tensor's place: a strided view, in elements, of `storages()[storage]`.
  struct Place {
    at::Tensor tensor;  ///< its sizes and strides; detached
    size_t storage;
    int64_t offset;
  };

  /// Adds a dense tensor of any device; `place` takes its index in the order of these calls.
  void add(const at::Tensor& tensor);
  /// Computes the places once all tensors are added.
  void plan();

  const Place& place(size_t index) const { return places_.at(index); }
  /// One flat tensor per storage, on its original device.
  const std::vector<at::Tensor>& storages() const { return storages_; }

 private:
  /// The range of elements that the tensors of one storage and dtype reach: [first, end).
  struct Span {
    int64_t first = 0;
    int64_t end = 0;
    size_t users = 0;
    std::optional<size_t> storage = {};
  };
  using Key = std::pair<const void*, at::ScalarType>;

  static Key key_of(const at::Tensor& tensor);
  size_t add_storage(at::Tensor flat);

  std::map<Key, Span> spans_;
  std::vector<Place> places_;
  std::vector<at::Tensor> storages_;
};

}  // namespace levin
