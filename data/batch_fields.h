#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Makes a struct of tensors a batch, which loaders, steps and replay buffers take. Write it after the members:
///
///     struct Transition {
///       torch::Tensor observation, action, reward;
///       LEVIN_BATCH_FIELDS(Transition, observation, action, reward)
///     };
///
/// The struct remains an aggregate. It gets `size()`, the rows of the first tensor, `to`, `pin_memory`, `narrow`,
/// `gather` and `stack` (see levin::OwnBatch), and `field_names()` and `field_tensors()`, its tensors in this order.
/// The named members must be of type torch::Tensor; other members are copied unchanged.
#define LEVIN_BATCH_FIELDS(Type, ...)                                                                               \
  static const std::vector<std::string>& field_names() {                                                            \
    static const std::vector<std::string> names = ::levin::detail::split_names(#__VA_ARGS__);                       \
    return names;                                                                                                   \
  }                                                                                                                 \
  std::vector<::at::Tensor*> field_tensors() { return ::levin::detail::pointers_to(__VA_ARGS__); }                  \
  std::vector<const ::at::Tensor*> field_tensors() const { return ::levin::detail::pointers_to(__VA_ARGS__); }      \
  int64_t size() const { return ::levin::detail::rows_of(field_tensors()); }                                        \
  Type to(::c10::Device device, bool non_blocking = false) const {                                                  \
    return ::levin::detail::changed(                                                                                \
        *this, [=](const ::at::Tensor& tensor) { return tensor.to(device, tensor.scalar_type(), non_blocking); });  \
  }                                                                                                                 \
  Type to(::at::ScalarType dtype) const {                                                                           \
    return ::levin::detail::changed(                                                                                \
        *this, [=](const ::at::Tensor& tensor) { return tensor.is_floating_point() ? tensor.to(dtype) : tensor; }); \
  }                                                                                                                 \
  Type pin_memory() const {                                                                                         \
    return ::levin::detail::changed(*this, [](const ::at::Tensor& tensor) { return tensor.pin_memory(); });         \
  }                                                                                                                 \
  Type narrow(int64_t start, int64_t length) const {                                                                \
    return ::levin::detail::changed(*this,                                                                          \
                                    [=](const ::at::Tensor& tensor) { return tensor.narrow(0, start, length); });   \
  }                                                                                                                 \
  static Type gather(const std::vector<Type>& batches) {                                                            \
    return ::levin::detail::joined(batches, ::levin::detail::cat_rows);                                             \
  }                                                                                                                 \
  static Type stack(const std::vector<Type>& samples) {                                                             \
    return ::levin::detail::joined(samples, ::levin::detail::stack_rows);                                           \
  }

namespace levin {

/// A struct that LEVIN_BATCH_FIELDS describes.
template <class B>
concept BatchStruct = requires(B& batch) {
  { B::field_names() } -> std::convertible_to<const std::vector<std::string>&>;
  { batch.field_tensors() } -> std::convertible_to<std::vector<at::Tensor*>>;
};

namespace detail {

/// "a, b" becomes {"a", "b"}.
std::vector<std::string> split_names(std::string_view list);
/// Returns size(0) of the first tensor that is defined, 1 if it is a scalar, and 0 if there is none.
int64_t rows_of(const std::vector<const at::Tensor*>& tensors);
at::Tensor cat_rows(const std::vector<at::Tensor>& tensors);
at::Tensor stack_rows(const std::vector<at::Tensor>& tensors);

template <std::same_as<at::Tensor>... T>
std::vector<at::Tensor*> pointers_to(T&... tensors) {
  return {&tensors...};
}
template <std::same_as<at::Tensor>... T>
std::vector<const at::Tensor*> pointers_to(const T&... tensors) {
  return {&tensors...};
}

template <class B, class Change>
B changed(const B& batch, const Change& change) {
  B result = batch;
  for (at::Tensor* tensor : result.field_tensors())
    if (tensor->defined()) *tensor = change(*tensor);
  return result;
}

template <class B, class Join>
B joined(const std::vector<B>& parts, const Join& join) {
  B result = parts.at(0);
  const std::vector<at::Tensor*> fields = result.field_tensors();
  for (size_t field = 0; field < fields.size(); ++field) {
    if (!fields[field]->defined()) continue;
    std::vector<at::Tensor> tensors;
    for (const B& part : parts) tensors.push_back(*part.field_tensors()[field]);
    *fields[field] = join(tensors);
  }
  return result;
}

}  // namespace detail
}  // namespace levin
