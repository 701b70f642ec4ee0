#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/data/batch.h>
#include <levin/modules/parallel/replicas/value_kinds.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace levin::parallel {

/// The sizes of the parts when `rows` are dealt out to at most `parts`: nearly equal, as torch::chunk has them. Throws
/// levin::Error for no rows.
std::vector<int64_t> chunk_sizes(int64_t rows, size_t parts);

/// Which rows of a batch go to which device.
struct Chunks {
  std::vector<int64_t> sizes = {};
  std::vector<c10::Device> devices = {};  ///< as many as sizes
  int64_t dim = 0;
};

/// Finds how many rows the values of a batch have, which must agree.
class RowCount {
 public:
  explicit RowCount(int64_t dim) : dim_(dim) {}
  /// Tensors and batches count, wherever they are; 0-dimensional tensors and all else have no rows. Throws levin::Error
  /// where `value` has other rows than what was added before, or not as many dimensions as it takes.
  template <class T>
  void add(const T& value);
  /// The chunks for at most `devices`. Throws levin::Error where there was nothing to split, levin::UsageError for
  /// devices that do not exist.
  Chunks chunks(const std::vector<c10::Device>& devices) const;

 private:
  void add_tensor(const at::Tensor& tensor);
  void add_batch(const Batch& batch);
  void add_rows(int64_t rows);

  int64_t dim_;
  int64_t rows_ = -1;
};

/// The parts of a tensor along `chunks.dim`; a 0-dimensional one, or one that is undefined, goes to all.
std::vector<at::Tensor> split_tensor(const at::Tensor& tensor, const Chunks& chunks);
std::vector<Batch> split_batch(const Batch& batch, const Chunks& chunks);
/// The same for tensors in lists, maps, tuples, optionals and own batches; of all else, copies.
template <class T>
std::vector<T> split(const T& value, const Chunks& chunks);

/// Splits a value along `dim` and moves each part to its device: at most as many parts as there are devices, fewer
/// where there are fewer rows.
///
/// Tensors, Batches (dimension 0 only), lists, maps, tuples and optionals of them, and own batches with `narrow`. Other
/// values are copied for each device. Gradients flow back to tensors that require them. Throws levin::Error for values
/// without rows, or with different numbers of rows. Source: torch.nn.parallel.scatter.
template <class T>
std::vector<T> scatter(const T& value, const std::vector<c10::Device>& devices, int64_t dim = 0) {
  RowCount rows(dim);
  rows.add(value);
  return split(value, rows.chunks(devices));
}

/// The same by the name it has in Gluon, for loops written by hand.
template <class T>
std::vector<T> split_and_load(const T& batch, const std::vector<c10::Device>& devices, int64_t dim = 0) {
  return scatter(batch, devices, dim);
}

template <class T>
void RowCount::add(const T& value) {
  if constexpr (std::same_as<T, at::Tensor>) {
    add_tensor(value);
  } else if constexpr (std::same_as<T, Batch> || OwnBatch<T>) {
    add_batch(value);
  } else if constexpr (IsOptional<T>) {
    if (value) add(*value);
  } else if constexpr (IsMap<T>) {
    for (const auto& [key, item] : value) add(item);
  } else if constexpr (IsList<T>) {
    for (const auto& item : value) add(item);
  } else if constexpr (IsTuple<T>) {
    std::apply([&](const auto&... items) { (add(items), ...); }, value);
  }
}

template <class T>
std::vector<T> split(const T& value, const Chunks& chunks) {
  const size_t count = chunks.sizes.size();
  if constexpr (std::same_as<T, at::Tensor>) {
    return split_tensor(value, chunks);
  } else if constexpr (std::same_as<T, Batch>) {
    return split_batch(value, chunks);
  } else if constexpr (OwnBatch<T>) {
    std::vector<T> parts;
    for (const Batch& part : split_batch(Batch(value), chunks)) parts.push_back(part.as<T>());
    return parts;
  } else if constexpr (IsOptional<T>) {
    std::vector<T> parts(count);
    if (!value) return parts;
    auto items = split(*value, chunks);
    for (size_t i = 0; i < count; ++i) parts[i] = std::move(items[i]);
    return parts;
  } else if constexpr (IsMap<T>) {
    std::vector<T> parts(count);
    for (const auto& [key, item] : value) {
      auto items = split(item, chunks);
      for (size_t i = 0; i < count; ++i) parts[i].emplace(key, std::move(items[i]));
    }
    return parts;
  } else if constexpr (IsList<T>) {
    std::vector<T> parts(count);
    for (const typename T::value_type& item : value) {
      auto items = split(item, chunks);
      for (size_t i = 0; i < count; ++i) parts[i].push_back(std::move(items[i]));
    }
    return parts;
  } else if constexpr (IsTuple<T>) {
    const auto columns = std::apply([&](const auto&... items) { return std::tuple(split(items, chunks)...); }, value);
    std::vector<T> parts;
    for (size_t i = 0; i < count; ++i)
      parts.push_back(std::apply([&](const auto&... column) { return T{column[i]...}; }, columns));
    return parts;
  } else {
    return std::vector<T>(count, value);
  }
}

}  // namespace levin::parallel
