#include <levin/data/python/shared_batches.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <levin/core/system/error.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace levin::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostDimensions = 64;

std::optional<at::ScalarType> type_of(const std::string& name) {
  static const std::array<std::pair<std::string_view, at::ScalarType>, 16> types = {{{"bool", at::kBool},
                                                                                     {"uint8", at::kByte},
                                                                                     {"int8", at::kChar},
                                                                                     {"int16", at::kShort},
                                                                                     {"uint16", at::kUInt16},
                                                                                     {"int32", at::kInt},
                                                                                     {"uint32", at::kUInt32},
                                                                                     {"int64", at::kLong},
                                                                                     {"uint64", at::kUInt64},
                                                                                     {"float16", at::kHalf},
                                                                                     {"bfloat16", at::kBFloat16},
                                                                                     {"float32", at::kFloat},
                                                                                     {"float64", at::kDouble},
                                                                                     {"complex64", at::kComplexFloat},
                                                                                     {"complex128", at::kComplexDouble},
                                                                                     {"complex32", at::kComplexHalf}}};
  for (const auto& [known, type] : types)
    if (known == name) return type;
  return {};
}

/// Returns the bytes from the first value to behind the last; unset if that is more than `most` or a number is
/// negative.
std::optional<int64_t> extent(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t itemsize,
                              int64_t most) {
  if (sizes.size() != strides.size() || sizes.size() > kMostDimensions) return {};
  int64_t last = 0, count = 1, reach = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0) return {};
    if (__builtin_mul_overflow(count, sizes[i], &count)) return {};
    if (sizes[i] == 0) continue;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) || __builtin_add_overflow(last, reach, &last))
      return {};
  }
  if (count == 0) return 0;
  int64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, itemsize, &bytes)) return {};
  return bytes <= most ? std::optional(bytes) : std::nullopt;
}

}  // namespace

/// A mapped buffer.
struct SharedBatches::Memory {
  Memory(const Descriptor& descriptor, int64_t size_) : size(size_) {
    struct stat status = {};
    if (size <= 0 || ::fstat(descriptor.number(), &status) != 0 || status.st_size < size)
      throw Error("Python sent no memory of ", size, " bytes");
    data = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.number(), 0);
    if (data == MAP_FAILED) throw Error("memory of a batch from Python: ", std::strerror(errno));
  }
  ~Memory() { ::munmap(data, static_cast<size_t>(size)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  int64_t size;
  void* data;
};

struct SharedBatches::Returned {
  std::mutex mutex = {};
  std::vector<int64_t> buffers = {};
};

namespace {

/// Calls `end` once nobody owns it.
template <class End>
class AtEnd {
 public:
  explicit AtEnd(End end) : end_(std::move(end)) {}
  ~AtEnd() { end_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  End end_;
};

/// Where the tensors of a batch lie, and what keeps that memory.
struct Place {
  std::byte* data;
  int64_t size;
  std::shared_ptr<const void> owner;
};

at::Tensor tensor_of(const Json& field, const Place& place) {
  const auto name = field.at("name").get<std::string>(), dtype = field.at("dtype").get<std::string>();
  const auto sizes = field.at("sizes").get<std::vector<int64_t>>();
  const auto strides = field.at("strides").get<std::vector<int64_t>>();
  const auto offset = field.at("offset").get<int64_t>();
  const std::optional<at::ScalarType> type = type_of(dtype);
  if (!type) throw Error("field '", name, "' is of ", dtype, ", which levin's batches do not have");
  const auto itemsize = static_cast<int64_t>(c10::elementSize(*type));
  if (offset < 0 || offset > place.size || offset % itemsize != 0 ||
      !extent(sizes, strides, itemsize, place.size - offset))
    throw Error("field '", name, "' ", at::IntArrayRef(sizes), " does not fit its memory of ", place.size, " bytes");
  return at::from_blob(place.data + offset, sizes, strides, [owner = place.owner](void*) {}, at::TensorOptions(*type));
}

Batch batch_of(const Json& fields, const Place& place) {
  std::vector<Batch::Item> items;
  for (const Json& field : fields) {
    auto name = field.at("name").get<std::string>();
    const auto list = field.find("items");
    if (list == field.end()) {
      items.emplace_back(std::move(name), tensor_of(field, place));
      continue;
    }
    Batch::List samples;
    for (const Json& sample : *list) samples.push_back(batch_of(sample, place));
    items.emplace_back(std::move(name), std::move(samples));
  }
  return Batch(std::move(items));
}

}  // namespace

SharedBatches::SharedBatches() : returned_(std::make_shared<Returned>()) {}
SharedBatches::~SharedBatches() = default;

Batch SharedBatches::take(const Json& answer, Descriptor memory) {
  const auto number = answer.at("buffer").get<int64_t>();
  if (memory.is_open()) {
    for (const Json& dropped : answer.at("dropped")) buffers_.erase(dropped.get<int64_t>());
    buffers_[number] = std::make_shared<const Memory>(memory, answer.at("bytes").get<int64_t>());
  }
  const auto found = buffers_.find(number);
  if (found == buffers_.end()) throw Error("Python named a buffer ", number, " that it has not sent");
  const std::shared_ptr<const Memory>& buffer = found->second;
  if (const auto fields = answer.find("fields"); fields != answer.end())
    fields_ = std::make_unique<const Json>(*fields);
  if (!fields_) throw Error("Python sent a batch without its fields");
  auto give_back = [buffer, number, returned = returned_] {
    const std::lock_guard lock(returned->mutex);
    returned->buffers.push_back(number);
  };
  return batch_of(*fields_, {static_cast<std::byte*>(buffer->data), buffer->size,
                             std::make_shared<AtEnd<decltype(give_back)>>(std::move(give_back))});
}

std::vector<int64_t> SharedBatches::released() {
  const std::lock_guard lock(returned_->mutex);
  return std::exchange(returned_->buffers, {});
}

}  // namespace levin::data
