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

/// Returns the chunk sizes of `rows` rows split into at most `parts` parts: nearly equal, as by torch::chunk. Throws
/// levin::Error if `rows` is 0.
std::vector<int64_t> chunk_sizes(int64_t rows, size_t parts);

/// The division of a batch's rows among devices.
struct Chunks {
  std::vector<int64_t> sizes = {};
  std::vector<c10::Device> devices = {};  ///< same length as `sizes`
  int64_t dim = 0;
};

/// Finds the number of rows of the values of a batch, which must agree.
class RowCount {
 public:
  explicit RowCount(int64_t dim) : dim_(dim) {}
  /// Counts the tensors and batches in `value`, also inside containers; 0-dimensional tensors and other values have no
  /// rows. Throws levin::Error if the number of rows differs from that of earlier values, or if a tensor has too few
  /// dimensions.
  template <class T>
  void add(const T& value);
  /// Returns the chunks for at most these `devices`. Throws levin::Error if there was nothing to split,
  /// levin::UsageError for devices that do not exist.
  Chunks chunks(const std::vector<c10::Device>& devices) const;

 private:
  void add_tensor(const at::Tensor& tensor);
  void add_batch(const Batch& batch);
  void add_rows(int64_t rows);

  int64_t dim_;
  int64_t rows_ = -1;
};

/// Splits a tensor along `chunks.dim`; a 0-dimensional or undefined tensor goes to all devices.
std::vector<at::Tensor> split_tensor(const at::Tensor& tensor, const Chunks& chunks);
std::vector<Batch> split_batch(const Batch& batch, const Chunks& chunks);
/// Returns the same for tensors in lists, maps, tuples, optionals and user-defined batches; other values are copied.
template <class T>
std::vector<T> split(const T& value, const Chunks& chunks);

/// Splits a value along `dim` and moves each part to its device: at most one part per device, fewer if there are fewer
/// rows.
///
/// Splits tensors, Batches (dimension 0 only), lists, maps, tuples and optionals of them, and user-defined batches with
/// `narrow`. Other values are copied for each device. Gradients flow back to tensors that require them. Throws
/// levin::Error for values without rows, or with different numbers of rows. Source: torch.nn.parallel.scatter.
template <class T>
std::vector<T> scatter(const T& value, const std::vector<c10::Device>& devices, int64_t dim = 0) {
  RowCount rows(dim);
  rows.add(value);
  return split(value, rows.chunks(devices));
}

/// Returns the same under its Gluon name, for hand-written loops.
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
