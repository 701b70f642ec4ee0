#include <levin/core/state/safetensors.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/format/python_dtypes.h>
#include <levin/core/state/format/safetensors_header.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

namespace levin {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

/// Reads the header's length and checks it against a file of `file_bytes` bytes.
uint64_t header_bytes(const char* data, uint64_t file_bytes, const std::string& file) {
  if (file_bytes < kSafetensorsLengthBytes)
    throw UsageError(file, ": no safetensors file, it has only ", file_bytes, " bytes");
  uint64_t length = 0;
  std::memcpy(&length, data, sizeof(length));
  if (length > kSafetensorsMaxHeaderBytes)
    throw UsageError(file, ": no safetensors file: its first 8 bytes give a header of ", length, " bytes");
  if (length > file_bytes - kSafetensorsLengthBytes)
    throw UsageError(file, ": damaged: its header should have ", length, " bytes, the file ends after ",
                     file_bytes - kSafetensorsLengthBytes, " of them");
  return length;
}

/// Sets each byte above 1 to 1: any value but 0 and 1 in a bool tensor is undefined behaviour. Valid bytes are not
/// written, so their pages are not copied.
void normalize_bool_bytes(char* bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    if (static_cast<uint8_t>(bytes[i]) > 1) bytes[i] = 1;
}

/// Returns the tensor of `entry`; the file's tensor data starts at `data` and is kept alive by `owner`.
at::Tensor tensor_of(const SafetensorsEntry& entry, char* data, const std::shared_ptr<void>& owner) {
  const at::TensorOptions options = at::TensorOptions().dtype(entry.type).device(at::kCPU);
  const uint64_t bytes = entry.end - entry.begin;
  if (bytes == 0) return at::empty(entry.shape, options);
  char* start = data + entry.begin;
  if (entry.type == at::kBool) normalize_bool_bytes(start, bytes);
  if (reinterpret_cast<uintptr_t>(start) % c10::elementSize(entry.type) == 0)
    return at::from_blob(start, entry.shape, [owner](void*) {}, options);
  at::Tensor tensor = at::empty(entry.shape, options);
  std::memcpy(tensor.mutable_data_ptr(), start, bytes);
  return tensor;
}

/// Returns the tensor under `key`; throws UsageError if the format cannot store it.
const at::Tensor& storable(const std::string& key, const State& value) {
  if (key == "__metadata__") throw UsageError("__metadata__: no tensor of a safetensors file can be called so");
  if (!value.is_tensor())
    throw UsageError(key, " is a ", value.kind(), ": a safetensors file holds one dict of tensors and nothing else");
  const at::Tensor& tensor = value.to_tensor();
  if (!tensor.defined()) throw UsageError(key, ": an undefined tensor cannot be saved");
  if (tensor.layout() != at::kStrided || tensor.is_quantized())
    throw UsageError(key, ": a safetensors file holds dense tensors; make it one by to_dense() or dequantize()");
  if (safetensors_dtype(tensor.scalar_type())) return tensor;
  const PythonDtype* dtype = find_dtype(tensor.scalar_type());
  throw UsageError(key, ": the safetensors format has no dtype ", dtype ? dtype->name : toString(tensor.scalar_type()));
}

struct PlannedFile {
  SafetensorsHeader header = {};
  std::vector<at::Tensor> tensors = {};  ///< in the order of the header's entries
};

PlannedFile planned(const State& state, const SafetensorsMetadata& metadata) {
  if (!state.is_dict()) throw UsageError("a dict of tensors was expected, this is a ", state.kind());
  std::vector<std::pair<std::string, at::Tensor>> items;
  for (const auto& [key, value] : state.to_dict()) items.emplace_back(to_text(key), storable(to_text(key), value));
  std::stable_sort(items.begin(), items.end(),
                   [](const auto& a, const auto& b) { return a.second.element_size() > b.second.element_size(); });
  PlannedFile plan = {.header = {.metadata = metadata}};
  uint64_t place = 0;
  for (auto& [name, tensor] : items) {
    const uint64_t end = place + static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
    plan.header.entries.push_back({name, tensor.scalar_type(), tensor.sizes().vec(), place, end});
    plan.tensors.push_back(std::move(tensor));
    place = end;
  }
  return plan;
}

}  // namespace

State load_safetensors(const fs::path& path, SafetensorsMetadata* metadata) {
  const FileBytes file = map_file_bytes(path);
  const uint64_t length = header_bytes(file.data, file.size, file.name);
  const uint64_t data_begin = kSafetensorsLengthBytes + length;
  SafetensorsHeader header =
      parse_safetensors_header(file.text().substr(kSafetensorsLengthBytes, length), file.size - data_begin, file.name);
  State state = State::dict();
  state.to_dict().reserve(header.entries.size());
  for (const SafetensorsEntry& entry : header.entries)
    state.to_dict().emplace_back(entry.name, tensor_of(entry, file.data + data_begin, file.owner));
  if (metadata) *metadata = std::move(header.metadata);
  return state;
}

void save_safetensors(const State& state, const fs::path& path, const SafetensorsMetadata& metadata) try {
  const PlannedFile plan = planned(state, metadata);
  const std::string header = safetensors_header_text(plan.header);
  if (header.size() > kSafetensorsMaxHeaderBytes)
    throw UsageError("too many names for one safetensors file: the header would have ", header.size(), " bytes");
  AtomicFile file(path);
  const uint64_t length = header.size();
  file.write(&length, sizeof(length));
  file.write(header.data(), header.size());
  for (const at::Tensor& tensor : plan.tensors) {
    const at::Tensor whole = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous();
    if (whole.numel() > 0 && !file.has_failed()) file.write(whole.const_data_ptr(), whole.nbytes());
  }
  file.commit();
} catch (const UsageError& error) {
  const std::string text = error.what(), name = path.string();
  throw UsageError(text.starts_with(name) ? text : name + ": " + text);
}

bool is_safetensors_file(const fs::path& path) {
  std::error_code failed;
  const uint64_t bytes = fs::file_size(path, failed);
  if (failed || bytes < kSafetensorsLengthBytes + 2) return false;
  std::ifstream file(path, std::ios::binary);
  char start[kSafetensorsLengthBytes + 1] = {};
  if (!file.read(start, sizeof(start))) return false;
  uint64_t length = 0;
  std::memcpy(&length, start, sizeof(length));
  return length <= std::min(kSafetensorsMaxHeaderBytes, bytes - kSafetensorsLengthBytes) &&
         start[kSafetensorsLengthBytes] == '{';
}

}  // namespace levin
