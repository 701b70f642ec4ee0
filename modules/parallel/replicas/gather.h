#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/data/batch.h>
#include <levin/modules/parallel/replicas/value_kinds.h>
#include <levin/trainer/core/system/error.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace levin::parallel {

/// The tensors of all devices on `device`, one after another along `dim`; 0-dimensional ones become a vector with one
/// element for each. Gradients flow back to where the parts came from. Throws levin::Error where shapes differ in
/// another dimension. Source: torch.nn.parallel.gather, which warns of 0-dimensional tensors.
at::Tensor gather(const std::vector<at::Tensor>& parts, c10::Device device, int64_t dim = 0);
/// The same for each tensor of the batches, which must hold the same names; own structs by their `gather`.
Batch gather(const std::vector<Batch>& parts, c10::Device device, int64_t dim = 0);
/// The same for each tensor in lists, maps, tuples and optionals, and for own batches.
template <class T>
T gather(const std::vector<T>& parts, c10::Device device, int64_t dim = 0);

/// The mean of the replicas' mean losses, weighted by their samples: that of the whole batch, however many devices it
/// was split over. `losses` [replicas], as `gather` makes them of 0-dimensional ones, or a loss of 0 dimensions, which
/// is given back; `counts` as `chunk_sizes` says.
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
