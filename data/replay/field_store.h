#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/Device.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/state/state.h>
#include <levin/data/batch.h>
#include <levin/data/batch_fields.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace levin::data {

/// The named tensors of a batch, in order.
struct FieldList {
  std::vector<std::string> names = {};
  std::vector<at::Tensor> tensors = {};
};

/// Throws levin::UsageError if the batch holds lists or a struct.
FieldList fields_of(const Batch& batch);
template <BatchStruct B>
FieldList fields_of(const B& batch) {
  FieldList fields{.names = B::field_names()};
  for (const at::Tensor* tensor : batch.field_tensors()) fields.tensors.push_back(*tensor);
  return fields;
}

/// Returns the names that all batches of this type have; empty if batches of one type may differ.
template <class B>
std::vector<std::string> names_of_fields() {
  if constexpr (BatchStruct<B>)
    return B::field_names();
  else
    return {};
}

/// Makes a batch of tensors that fields_of has named.
template <class B>
B from_fields(FieldList fields) {
  if constexpr (std::same_as<B, Batch>) {
    std::vector<Batch::Item> items;
    for (size_t i = 0; i < fields.names.size(); ++i)
      items.emplace_back(std::move(fields.names[i]), std::move(fields.tensors[i]));
    return Batch(std::move(items));
  } else {
    B batch{};
    const std::vector<at::Tensor*> tensors = batch.field_tensors();
    for (size_t i = 0; i < tensors.size(); ++i) *tensors[i] = std::move(fields.tensors[i]);
    return batch;
  }
}

/// While it lives, new tensors are ordinary ones without gradients, whatever mode the calling thread is in.
struct PlainTensors {
  c10::InferenceMode no_inference{false};
  at::NoGradGuard no_gradients = {};
};

/// The memory of a buffer: one tensor for each field of the first batch, allocated once.
class FieldStore {
 public:
  /// `owner` is the class that errors name; `sizes` are the dimensions that precede those of a row; `names` are those
  /// of all batches, or empty if the first batch defines them.
  FieldStore(std::string owner, std::vector<int64_t> sizes, c10::Device device, std::vector<std::string> names)
      : owner_(std::move(owner)), sizes_(std::move(sizes)), device_(device), expected_(std::move(names)) {}

  bool is_allocated() const { return !fields_.names.empty(); }
  const std::vector<std::string>& names() const { return fields_.names; }
  c10::Device device() const { return device_; }
  size_t count() const { return fields_.names.size(); }
  /// Returns the number of rows of a batch, and allocates the memory for the first one. Throws levin::UsageError if the
  /// batch differs from the first in names, dtypes or row shapes, or its tensors in the number of rows.
  int64_t take(const FieldList& batch);
  /// Returns the position of a field. Throws levin::UsageError if there is none.
  size_t at(const std::string& name, const char* purpose) const;
  /// Returns the position of a field, or -1.
  int64_t find(const std::string& name) const;
  const at::Tensor& operator[](size_t field) const { return fields_.tensors[field]; }
  /// Returns a field's memory to write to. If a state that was taken is still held, the memory is copied first.
  at::Tensor& writable(size_t field);

  /// Returns the first `rows` entries of dimension 0 of each field; they share the memory.
  State state_dict(int64_t rows) const;
  /// Copies a state; throws levin::UsageError if it belongs to other fields.
  void load_state_dict(const State& state, int64_t rows);

 private:
  void allocate(const FieldList& like, size_t row_begins);

  std::string owner_;
  std::vector<int64_t> sizes_;
  c10::Device device_;
  std::vector<std::string> expected_;
  FieldList fields_ = {};
};

}  // namespace levin::data
