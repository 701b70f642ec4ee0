#include <levin/program/commands/ckpt_file.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/format/python_dtypes.h>
#include <levin/core/state/sharded_file.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/trainer/run_folder/remote_checkpoint.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

namespace levin::cli {
namespace {

bool is_plain(const State& value) {
  return !value.is_tensor() && !value.is_list() && !value.is_tuple() && !value.is_dict();
}

bool is_sequence(const State& value) { return value.is_list() || value.is_tuple(); }

bool stands_on_one_line(const State& value) {
  if (value.is_tensor() || is_plain(value)) return true;
  if (value.size() == 0) return true;
  return is_sequence(value) && std::all_of(value.items().begin(), value.items().end(), is_plain);
}

void append_entries(const State& value, const std::string& path, std::vector<CkptEntry>& entries) {
  if (stands_on_one_line(value)) return entries.push_back({path, &value});
  const std::string inside = path.empty() ? "" : path + "/";
  if (value.is_dict()) {
    for (const auto& [key, item] : value.to_dict()) append_entries(item, inside + to_text(key), entries);
    return;
  }
  for (size_t i = 0; i < value.size(); ++i) append_entries(value.items()[i], inside + std::to_string(i), entries);
}

}  // namespace

CkptFile read_ckpt_file(const std::filesystem::path& given, bool verify_checksums, const JoinTensor& join) {
  const std::filesystem::path path = local_checkpoint(given);
  CkptFile file{.path = path};
  file.is_safetensors = is_safetensors_file(path);
  if (file.is_safetensors) {
    file.state = load_safetensors(path, &file.metadata);
  } else {
    file.state = load_state(path, {.verify_checksums = verify_checksums, .join = join});
    if (const std::optional<ShardedIndex> index = read_sharded_index(path))
      for (int64_t rank = 0; rank < index->ranks; ++rank)
        file.parts.push_back(part_file(path, index->save, rank, index->ranks));
  }
  file.bytes = std::filesystem::file_size(path);
  for (const std::filesystem::path& part : file.parts) file.bytes += std::filesystem::file_size(part);
  return file;
}

std::vector<CkptEntry> entries_of(const State& state) {
  std::vector<CkptEntry> entries;
  append_entries(state, "", entries);
  return entries;
}

std::string dtype_text(const at::Tensor& tensor) {
  const PythonDtype* dtype = find_dtype(tensor.scalar_type());
  return dtype ? dtype->name : toString(tensor.scalar_type());
}

std::string tensor_text(const at::Tensor& tensor) { return dtype_text(tensor) + " " + c10::str(tensor.sizes()); }

nlohmann::ordered_json value_json(const State& value) {
  using Json = nlohmann::ordered_json;
  if (value.is_none()) return nullptr;
  if (value.is_bool()) return value.to_bool();
  if (value.is_int()) return value.to_int();
  if (value.is_string()) return value.to_string();
  if (value.is_bytes()) return std::to_string(value.to_bytes().size()) + " bytes";
  if (value.is_tensor()) return tensor_text(value.to_tensor());
  if (value.is_float()) {
    const double number = value.to_double();
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
    return number;
  }
  if (value.is_dict()) {
    Json json = Json::object();
    for (const auto& [key, item] : value.to_dict()) json[to_text(key)] = value_json(item);
    return json;
  }
  Json json = Json::array();
  for (const State& item : value.items()) json.push_back(value_json(item));
  return json;
}

std::string value_text(const State& value, size_t width) {
  if (value.is_tensor()) return tensor_text(value.to_tensor());
  std::string text =
      value.is_bytes() ? std::to_string(value.to_bytes().size()) + " bytes" : json_text(value_json(value));
  if (text.size() <= width) return text;
  const std::string rest = is_sequence(value) ? "... (" + std::to_string(value.size()) + " items)" : "...";
  size_t end = width;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 character
  return text.substr(0, end) + rest;
}

std::string size_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double size = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  while (size >= 999.95 && unit + 1 < std::size(kUnits)) {
    size /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", size, kUnits[unit]);
  return text;
}

}  // namespace levin::cli
