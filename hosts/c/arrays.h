#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/batch.h>
#include <levin/hosts/c/c_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace levin::c {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Returns a tensor that shares the array's memory; a copy if a stride is negative. Throws levin::UsageError for an
/// array that no tensor can be.
at::Tensor tensor_of(const levin_array& array);
/// Writes a description of the tensor, which must stay where it is as long as the array is used.
void describe(const at::Tensor& tensor, const char* name, levin_array& array);

/// What a model takes numbers as.
struct InputDtypes {
  at::ScalarType real = at::kFloat;  ///< of all real inputs
  bool long_indices = true;          ///< whole numbers of 16 and 32 bits become int64, LibTorch's kind of index
};

/// Makes batches of arrays. The tensors of the newest arrays are kept, so that arrays which stay where they are cost no
/// allocation.
class BatchMaker {
 public:
  /// The batch shares the arrays' memory where the dtype is the model's already. Throws levin::UsageError as tensor_of,
  /// and for two arrays of one name.
  Batch make(const levin_array* arrays, size_t count, const InputDtypes& dtypes);

 private:
  struct Kept {
    const void* data = nullptr;
    levin_dtype dtype = 0;
    int32_t device_type = 0, device_index = 0;
    bool has_strides = false;
    std::vector<int64_t> shape = {}, strides = {};
    at::Tensor tensor = {};

    bool is_of(const levin_array& array) const;
  };
  at::Tensor tensor_at(size_t place, const levin_array& array);
  Batch named_batch(const levin_array* arrays, size_t count, const InputDtypes& dtypes);
  /// Whether the newest named batch has these names and, in `tensors_`, these tensors.
  bool has_newest(const levin_array* arrays, size_t count) const;

  std::vector<Kept> kept_ = {};
  std::vector<at::Tensor> tensors_ = {}, newest_tensors_ = {};
  std::vector<std::string> newest_names_ = {};
  Batch newest_ = {};
};

/// Returns the name of the array at a place of a batch.
std::string input_name(const levin_array& array, size_t place);
at::Tensor converted(const at::Tensor& tensor, const InputDtypes& dtypes);

/// What a call left for the host to read.
class Results {
 public:
  void set(NamedTensors tensors) { tensors_ = std::move(tensors); }
  void set(const Batch& batch);
  /// Drops what backward would need.
  void detach();
  size_t count() const { return tensors_.size(); }
  /// Throws levin::UsageError if there is no such place. An undefined tensor has no data.
  void give(size_t place, levin_array& array) const;

 private:
  NamedTensors tensors_ = {};
};

}  // namespace levin::c
