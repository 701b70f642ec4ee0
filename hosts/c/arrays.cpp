#include <levin/hosts/c/arrays.h>
#include <ATen/ops/from_blob.h>
#include <levin/core/ranks/c_dtype.h>
#include <levin/hosts/c/status.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace levin::c {
namespace {

constexpr int32_t kMostDimensions = 16;

c10::Device device_of(const levin_array& array) {
  if (array.device_type == LEVIN_CPU) return c10::kCPU;
  if (array.device_type != LEVIN_CUDA || array.device_index < 0 ||
      array.device_index > std::numeric_limits<c10::DeviceIndex>::max())
    throw UsageError("an array is on the device ", array.device_type, ":", array.device_index,
                     ", and there are LEVIN_CPU and LEVIN_CUDA");
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(array.device_index)};
}

/// Throws levin::UsageError for extents that are no array's, or that reach beyond all memory.
void check(const levin_array& array) {
  sized(&array, "an array");
  if (array.rank < 0 || array.rank > kMostDimensions)
    throw UsageError("an array has the rank ", array.rank, ", expected 0 to ", kMostDimensions);
  if (array.rank > 0) given(array.shape, "an array's shape");
  bool is_empty = false;
  int64_t reach = 1;  // elements from the lowest to the highest, at most
  for (int32_t i = 0; i < array.rank; ++i) {
    const int64_t size = array.shape[i], stride = array.strides == nullptr ? 1 : array.strides[i];
    if (size < 0) throw UsageError("an array has the size ", size, " in dimension ", i);
    if (stride == std::numeric_limits<int64_t>::min()) throw UsageError("an array has the stride ", stride);
    is_empty = is_empty || size == 0;
    int64_t of_dimension = 0;
    const bool fits = array.strides == nullptr
                          ? !__builtin_mul_overflow(reach, std::max<int64_t>(size, 1), &reach)
                          : !__builtin_mul_overflow(std::max<int64_t>(size - 1, 0), std::abs(stride), &of_dimension) &&
                                !__builtin_add_overflow(reach, of_dimension, &reach);
    if (!fits) throw UsageError("an array's sizes and strides reach beyond all memory");
  }
  constexpr int64_t kLargest = 8;  // bytes of an element
  if (reach > std::numeric_limits<int64_t>::max() / kLargest)
    throw UsageError("an array's sizes and strides reach beyond all memory");
  if (!is_empty && array.data == nullptr) throw UsageError("an array's data is null");
}

/// An array's memory with positive strides, and the dimensions that the array counts from their end.
struct ForwardView {
  at::Tensor tensor = {};
  std::vector<int64_t> backward = {};
};

ForwardView forward_view(const levin_array& array) {
  check(array);
  const auto options = at::TensorOptions(scalar_type_of(array.dtype)).device(device_of(array));
  const at::IntArrayRef shape(array.shape, static_cast<size_t>(array.rank));
  if (array.strides == nullptr) return {.tensor = at::from_blob(array.data, shape, options)};
  ForwardView view;
  std::vector<int64_t> strides(array.strides, array.strides + array.rank);
  auto* first = static_cast<char*>(array.data);
  const auto element = static_cast<int64_t>(options.dtype().itemsize());
  for (size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] >= 0) continue;
    if (shape[i] > 1) first += strides[i] * (shape[i] - 1) * element;
    strides[i] = -strides[i];
    view.backward.push_back(static_cast<int64_t>(i));
  }
  view.tensor = at::from_blob(first, shape, strides, options);
  return view;
}

/// Returns the first byte of a tensor whose strides are positive, and the one behind its last.
std::pair<const char*, const char*> bytes_of(const at::Tensor& tensor) {
  const auto* const first = static_cast<const char*>(tensor.const_data_ptr());
  if (tensor.numel() == 0) return {first, first};
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  return {first, first + (last + 1) * static_cast<int64_t>(tensor.element_size())};
}

/// Returns whether the memories of two tensors may overlap. LibTorch knows it of views of one tensor alone.
bool share_bytes(const at::Tensor& one, const at::Tensor& other) {
  if (one.device() != other.device()) return false;
  const auto [begin, end] = bytes_of(one);
  const auto [other_begin, other_end] = bytes_of(other);
  return std::less<>()(begin, other_end) && std::less<>()(other_begin, end);
}

}  // namespace

at::Tensor tensor_of(const levin_array& array) {
  const ForwardView view = forward_view(array);
  return view.backward.empty() ? view.tensor : view.tensor.flip(view.backward);
}

void describe(const at::Tensor& tensor, const char* name, levin_array& array) {
  const size_t size = sized(&array, "the array").struct_size;
  array = {};
  array.struct_size = size;
  array.name = name;
  if (!tensor.defined()) return;
  array.data = tensor.numel() == 0 ? nullptr : tensor.mutable_data_ptr();
  array.dtype = dtype_of(tensor.scalar_type());
  array.rank = static_cast<int32_t>(tensor.dim());
  array.shape = tensor.sizes().data();
  array.strides = tensor.strides().data();
  array.device_type = tensor.is_cuda() ? LEVIN_CUDA : LEVIN_CPU;
  array.device_index = tensor.is_cuda() ? tensor.get_device() : 0;
  array.owner = const_cast<at::Tensor*>(&tensor);
}

std::string input_name(const levin_array& array, size_t place) {
  if (array.name != nullptr) return array.name;
  if (place == 0) return "input";
  if (place == 1) return "target";
  throw UsageError("the array at the place ", place, " has no name; the first two are input and target without one");
}

at::Tensor converted(const at::Tensor& tensor, const InputDtypes& dtypes) {
  const at::ScalarType dtype = tensor.scalar_type();
  if (at::isFloatingType(dtype)) return dtype == dtypes.real ? tensor : tensor.to(dtypes.real);
  if (dtypes.long_indices && (dtype == at::kInt || dtype == at::kShort)) return tensor.to(at::kLong);
  return tensor;
}

bool BatchMaker::Kept::is_of(const levin_array& array) const {
  const auto rank = static_cast<size_t>(array.rank);
  if (!tensor.defined() || data != array.data || dtype != array.dtype || device_type != array.device_type ||
      device_index != array.device_index || shape.size() != rank || has_strides != (array.strides != nullptr) ||
      (rank > 0 && array.shape == nullptr))
    return false;
  return std::equal(shape.begin(), shape.end(), array.shape) &&
         (!has_strides || std::equal(strides.begin(), strides.end(), array.strides)) && !tensor.requires_grad();
}

at::Tensor BatchMaker::tensor_at(size_t place, const levin_array& array) {
  sized(&array, "an array");
  if (place >= kept_.size()) kept_.resize(place + 1);
  Kept& kept = kept_[place];
  if (kept.is_of(array)) return kept.tensor;
  kept.tensor.reset();
  at::Tensor tensor = tensor_of(array);
  const bool is_view = tensor.numel() == 0 || tensor.const_data_ptr() == array.data;
  if (!is_view) return tensor;  // a copy, which has other values at the next call
  kept.data = array.data;
  kept.dtype = array.dtype;
  kept.device_type = array.device_type;
  kept.device_index = array.device_index;
  kept.has_strides = array.strides != nullptr;
  kept.shape = tensor.sizes().vec();
  kept.strides = tensor.strides().vec();
  return kept.tensor = std::move(tensor);
}

Batch BatchMaker::make(const levin_array* arrays, size_t count, const InputDtypes& dtypes) {
  if (count == 0) return {};
  given(arrays, "the arrays");
  constexpr size_t kMostArrays = 1024;
  if (count > kMostArrays) throw UsageError(count, " arrays, at most ", kMostArrays, " are a batch");
  const auto tensor = [&](size_t place) { return converted(tensor_at(place, arrays[place]), dtypes); };
  if (count <= 2 && arrays[0].name == nullptr && arrays[count - 1].name == nullptr)
    return Batch(tensor(0), count == 2 ? tensor(1) : at::Tensor());
  return named_batch(arrays, count, dtypes);
}

Batch BatchMaker::named_batch(const levin_array* arrays, size_t count, const InputDtypes& dtypes) {
  tensors_.resize(count);
  for (size_t i = 0; i < count; ++i) tensors_[i] = converted(tensor_at(i, arrays[i]), dtypes);
  if (has_newest(arrays, count)) return newest_;
  newest_ = {};
  newest_names_.clear();
  for (size_t i = 0; i < count; ++i) {
    newest_names_.push_back(input_name(arrays[i], i));
    if (newest_.contains(newest_names_.back())) throw UsageError("two arrays have the name ", newest_names_.back());
    newest_.set(newest_names_.back(), tensors_[i]);
  }
  newest_tensors_ = tensors_;
  return newest_;
}

bool BatchMaker::has_newest(const levin_array* arrays, size_t count) const {
  if (newest_tensors_.size() != count || newest_names_.size() != count) return false;
  for (size_t i = 0; i < count; ++i)
    if (arrays[i].name == nullptr || newest_names_[i] != arrays[i].name || !newest_tensors_[i].is_same(tensors_[i]))
      return false;
  return true;
}

void Results::set(const Batch& batch) {
  if (batch.is_own()) throw UsageError("the function returns a struct of the program's own, which C has no arrays for");
  size_t count = 0;
  batch.visit([&](std::string_view name, const at::Tensor* tensor) {
    if (tensor == nullptr) throw UsageError("the function returns a list, ", name, ", which C has no array for");
    ++count;
  });
  tensors_.resize(count);  // and the texts keep their memory
  size_t place = 0;
  batch.visit([&](std::string_view name, const at::Tensor* tensor) {
    tensors_[place].first = name;
    tensors_[place++].second = *tensor;
  });
}

void Results::detach() {
  for (auto& [name, tensor] : tensors_) tensor = tensor.detach();
}

void Results::give(size_t place, levin_array& array) const {
  if (place >= tensors_.size()) throw UsageError("there is no array ", place, ": there are ", tensors_.size());
  describe(tensors_[place].second, tensors_[place].first.c_str(), array);
}

}  // namespace levin::c

using namespace levin::c;

levin_status levin_array_copy(const levin_array* from, const levin_array* to) {
  return guarded("levin_array_copy", [&] {
    const at::Tensor source = tensor_of(given(from, "from"));
    const ForwardView target = forward_view(given(to, "to"));
    if (source.sizes() != target.tensor.sizes())
      throw levin::UsageError("the arrays have the shapes ", source.sizes(), " and ", target.tensor.sizes());
    const at::Tensor ordered = target.backward.empty() ? source : source.flip(target.backward);
    target.tensor.copy_(share_bytes(ordered, target.tensor) ? ordered.clone() : ordered);
  });
}
