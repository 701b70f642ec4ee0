#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/core/system/error.h>
#include <levin/data/batch.h>
#include <levin/modules/parallel/replicas/value_kinds.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace levin::parallel {

/// Concatenates the tensors of all devices along `dim`, on `device`; 0-dimensional tensors become a vector with one
/// element each. Gradients flow back to the parts. Throws levin::Error if shapes differ in another dimension. Source:
/// torch.nn.parallel.gather, which warns of 0-dimensional tensors.
at::Tensor gather(const std::vector<at::Tensor>& parts, c10::Device device, int64_t dim = 0);
/// Returns the same for each tensor of the batches, which must have the same names; user-defined batch structs use
/// their `gather`.
Batch gather(const std::vector<Batch>& parts, c10::Device device, int64_t dim = 0);
/// Returns the same for each tensor in lists, maps, tuples and optionals, and for user-defined batches.
template <class T>
T gather(const std::vector<T>& parts, c10::Device device, int64_t dim = 0);

/// Returns the mean of the replicas' mean losses, weighted by their samples: the mean of the whole batch, for any
/// number of devices. `losses` [replicas] is the result of `gather` for 0-dimensional losses; a 0-dimensional loss is
/// returned unchanged. `counts` is the result of `chunk_sizes`.
at::Tensor weighted_mean(const at::Tensor& losses, const std::vector<int64_t>& counts);

template <class T>
T gather(const std::vector<T>& parts, [[maybe_unused]] c10::Device device, [[maybe_unused]] int64_t dim) {
  if (parts.empty()) throw Error("gather: there are no parts");
  const auto column = [&](const auto& get) {
    std::vector<std::remove_cvref_t<decltype(get(parts.front()))>> items;
    for (const T& part : parts) items.push_back(get(part));
    return gather(items, device, dim);
  };
  const auto check = [&](bool agree) {
    if (!agree) throw Error("gather: the replicas returned different numbers of values, or other names");
  };
  if constexpr (OwnBatch<T>) {
    return column([](const T& part) { return Batch(part); }).template as<T>();
  } else if constexpr (IsOptional<T>) {
    for (const T& part : parts) check(part.has_value() == parts.front().has_value());
    return parts.front() ? T(column([](const T& part) { return *part; })) : T();
  } else if constexpr (IsMap<T>) {
    T whole;
    for (const T& part : parts) check(part.size() == parts.front().size());
    for (const auto& [key, value] : parts.front())
      whole.emplace(key, column([&, &name = key](const T& part) {
                      const auto found = part.find(name);
                      check(found != part.end());
                      return found->second;
                    }));
    return whole;
  } else if constexpr (IsList<T>) {
    T whole;
    for (const T& part : parts) check(part.size() == parts.front().size());
    for (size_t i = 0; i < parts.front().size(); ++i) whole.push_back(column([&](const T& part) { return part[i]; }));
    return whole;
  } else if constexpr (IsTuple<T>) {
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return T{column([](const T& part) { return std::get<i>(part); })...};
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    static_assert(!sizeof(T*), "gather takes tensors, Batches, and lists, maps, tuples and optionals of them");
  }
}

}  // namespace levin::parallel
