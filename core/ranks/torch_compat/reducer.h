#pragma once
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace levin::torch_compat {

/// The arguments of a c10d::Reducer.
struct ReducerParts {
  std::vector<at::Tensor> parameters;
  std::vector<std::vector<size_t>> buckets;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  int64_t bucket_bytes = 0, first_bucket_bytes = 0;
  bool find_unused_parameters = false;
  std::unordered_map<size_t, std::string> names;
};

/// A reducer that can keep the buckets it was given, instead of rebuilding them once it has seen the order of backward.
struct Reducer : c10d::Reducer {
  using c10d::Reducer::Reducer;
  void keep_buckets() { has_rebuilt_bucket_ = true; }
  /// Returns whether the buckets stay unchanged from now on.
  bool keeps_buckets() const { return has_rebuilt_bucket_; }
  /// Makes the next backward the first iteration, in which a static graph counts the gradients of each parameter.
  /// LibTorch counts those of all backwards up to the first reduction, waits for as many in each later one, and reduces
  /// nothing.
  void begin_first_iteration() {
    num_bwd_calls_ = 0;
    first_autograd_hook_called_ = false;
    for (auto& [parameter, count] : numGradHooksTriggeredMap_) count = 0;
  }
};

/// Returns the numbers of the parameters without a gradient that the text of a reducer's error lists; empty if it lists
/// none.
inline std::vector<size_t> numbers_of_missing(const std::string& error) {
  const std::string before = "did not receive grad for rank ";
  size_t at = error.find(before);
  if (at != std::string::npos) at = error.find(':', at + before.size());
  if (at == std::string::npos) return {};
  std::istringstream list(error.substr(at + 1));
  std::vector<size_t> numbers;
  for (size_t number = 0; list >> number;) numbers.push_back(number);
  return numbers;
}

/// Makes a reducer. Its constructor gains arguments between versions: two up to 2.11, a third in 2.13.
template <class Reducer = torch_compat::Reducer>
std::shared_ptr<Reducer> make_reducer(ReducerParts parts) {
  using Tensors = std::vector<at::Tensor>;
  using Buckets = std::vector<std::vector<size_t>>;
  using Limits = std::vector<size_t>;
  using Flags = std::vector<bool>;
  using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
  using Names = std::unordered_map<size_t, std::string>;
  constexpr bool kViews = true;  // gradients live in the buckets
  const size_t count = parts.parameters.size();
  const Flags dense(count, false);
  const auto make = [&](auto... more) {
    return std::make_shared<Reducer>(std::move(parts.parameters), std::move(parts.buckets), std::move(parts.group),
                                     dense, parts.bucket_bytes, parts.find_unused_parameters, kViews,
                                     std::move(parts.names), parts.first_bucket_bytes, more...);
  };
  if constexpr (std::is_constructible_v<Reducer, Tensors, Buckets, Limits, Group, Flags, int64_t, bool, bool, Names,
                                        int64_t>) {
    const Limits limits(parts.buckets.size(), static_cast<size_t>(parts.bucket_bytes));
    return std::make_shared<Reducer>(std::move(parts.parameters), std::move(parts.buckets), limits,
                                     std::move(parts.group), dense, parts.bucket_bytes, parts.find_unused_parameters,
                                     kViews, std::move(parts.names), parts.first_bucket_bytes);
  } else if constexpr (std::is_constructible_v<Reducer, Tensors, Buckets, Group, Flags, int64_t, bool, bool, Names,
                                               int64_t, bool, bool>) {
    return make(false, false);
  } else {
    return make(false, false, std::vector<int64_t>{});
  }
}

}  // namespace levin::torch_compat
