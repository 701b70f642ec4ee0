#include <levin/core/state/format/safetensors_header.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin {
namespace {

using nlohmann::json;

constexpr size_t kMaxDimensions = 64;
constexpr const char* kMetadataKey = "__metadata__";

constexpr std::pair<at::ScalarType, const char*> kSafetensorsDtypes[] = {
    {at::kFloat, "F32"},
    {at::kDouble, "F64"},
    {at::kHalf, "F16"},
    {at::kBFloat16, "BF16"},
    {at::kLong, "I64"},
    {at::kInt, "I32"},
    {at::kShort, "I16"},
    {at::kChar, "I8"},
    {at::kByte, "U8"},
    {at::kBool, "BOOL"},
    {at::kUInt16, "U16"},
    {at::kUInt32, "U32"},
    {at::kUInt64, "U64"},
    {at::kComplexFloat, "C64"},
    {at::kFloat8_e5m2, "F8_E5M2"},
    {at::kFloat8_e4m3fn, "F8_E4M3"},
    {at::kFloat8_e5m2fnuz, "F8_E5M2FNUZ"},
    {at::kFloat8_e4m3fnuz, "F8_E4M3FNUZ"},
};

std::string known_dtypes() {
  std::string text;
  for (const auto& [type, name] : kSafetensorsDtypes) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

/// Parses one header; errors name the file and the current tensor.
class SafetensorsHeaderReader {
 public:
  SafetensorsHeaderReader(uint64_t data_bytes, const std::string& file) : data_bytes_(data_bytes), file_(file) {}

  SafetensorsHeader read(std::string_view text) {
    const json root = parsed(text);
    if (!root.is_object()) throw UsageError(file_, ": damaged, its header is no JSON object");
    SafetensorsHeader header;
    for (const auto& [name, value] : root.items()) {
      if (name == kMetadataKey)
        header.metadata = metadata_of(value);
      else
        header.entries.push_back(entry_of(name, value));
    }
    check_places(header.entries);
    return header;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const std::string& name, const Parts&... parts) const {
    throw UsageError(file_, ": damaged, tensor ", name, ": ", parts...);
  }

  json parsed(std::string_view text) const {
    try {
      return json::parse(text);
    } catch (const json::parse_error& error) {
      throw UsageError(file_, ": damaged, its header is no JSON text (byte ", kSafetensorsLengthBytes + error.byte,
                       " of the file)");
    } catch (const json::exception&) {
      throw UsageError(file_, ": damaged, its header holds a number that is too large");
    }
  }

  SafetensorsMetadata metadata_of(const json& value) const {
    if (!value.is_object()) throw UsageError(file_, ": damaged, ", kMetadataKey, " is no JSON object");
    SafetensorsMetadata metadata;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) throw UsageError(file_, ": damaged, ", kMetadataKey, ".", key, " is no text");
      metadata[key] = text.get<std::string>();
    }
    return metadata;
  }

  const json& member(const std::string& name, const json& value, const char* key) const {
    const auto found = value.find(key);
    if (found == value.end()) fail(name, "its header lacks ", key);
    return *found;
  }

  uint64_t number(const std::string& name, const char* key, const json& value) const {
    if (!value.is_number_unsigned()) fail(name, key, " holds ", value.dump(), ", not a whole number from 0 on");
    return value.get<uint64_t>();
  }

  SafetensorsEntry entry_of(const std::string& name, const json& value) const {
    if (!value.is_object()) fail(name, "its header is no JSON object");
    SafetensorsEntry entry = {.name = name};
    entry.type = type_of(name, member(name, value, "dtype"));
    const json& shape = member(name, value, "shape");
    if (!shape.is_array()) fail(name, "shape is no list");
    if (shape.size() > kMaxDimensions)
      fail(name, "its shape has ", shape.size(), " dimensions, more than LibTorch's 64");
    for (const json& size : shape) entry.shape.push_back(static_cast<int64_t>(number(name, "shape", size)));
    const json& offsets = member(name, value, "data_offsets");
    if (!offsets.is_array() || offsets.size() != 2) fail(name, "data_offsets is no list of two numbers");
    entry.begin = number(name, "data_offsets", offsets[0]);
    entry.end = number(name, "data_offsets", offsets[1]);
    check_size(entry);
    return entry;
  }

  at::ScalarType type_of(const std::string& name, const json& value) const {
    if (!value.is_string()) fail(name, "dtype is no text");
    const std::string dtype = value.get<std::string>();
    for (const auto& [type, known] : kSafetensorsDtypes)
      if (dtype == known) return type;
    throw UsageError(file_, ": tensor ", name, " has dtype ", dtype, ", which levin cannot read; it reads ",
                     known_dtypes());
  }

  void check_size(const SafetensorsEntry& entry) const {
    if (entry.begin > entry.end || entry.end > data_bytes_)
      fail(entry.name, "data_offsets [", entry.begin, ", ", entry.end, "] do not lie in the file's ", data_bytes_,
           " bytes of data; is the file cut off?");
    // Every product must stay below the largest tensor size, including those before a dimension of 0.
    const uint64_t most = std::numeric_limits<int64_t>::max() / c10::elementSize(entry.type);
    uint64_t elements = 1;
    bool is_empty = false;
    for (const int64_t size : entry.shape) {
      const auto factor = static_cast<uint64_t>(size);
      if (factor > most || (factor > 0 && elements > most / factor)) fail(entry.name, "its shape is too large");
      if (factor == 0) is_empty = true;
      if (factor > 0) elements *= factor;
    }
    const uint64_t needed = is_empty ? 0 : elements * c10::elementSize(entry.type);
    if (needed != entry.end - entry.begin)
      fail(entry.name, "shape ", c10::IntArrayRef(entry.shape), " of ", safetensors_dtype(entry.type), " needs ",
           needed, " bytes, its data_offsets give ", entry.end - entry.begin);
  }

  void check_places(std::vector<SafetensorsEntry>& entries) const {
    std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    uint64_t expected = 0;
    for (const SafetensorsEntry& entry : entries) {
      if (entry.begin != expected)
        fail(entry.name, "begins at byte ", entry.begin, " of the data, where ", expected, " was expected: there is ",
             entry.begin < expected ? "an overlap" : "a gap");
      expected = entry.end;
    }
    if (expected != data_bytes_)
      throw UsageError(file_, ": damaged, its tensors end at byte ", expected, " of ", data_bytes_, " bytes of data");
  }

  uint64_t data_bytes_;
  const std::string& file_;
};

}  // namespace

const char* safetensors_dtype(at::ScalarType type) {
  for (const auto& [known, name] : kSafetensorsDtypes)
    if (known == type) return name;
  return nullptr;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes, const std::string& file) {
  return SafetensorsHeaderReader(data_bytes, file).read(text);
}

std::string safetensors_header_text(const SafetensorsHeader& header) try {
  // Written by hand, since a JSON object would lose the order or take quadratic time to keep it.
  std::string text = "{";
  if (!header.metadata.empty()) text += json(kMetadataKey).dump() + ":" + json(header.metadata).dump();
  for (const SafetensorsEntry& entry : header.entries) {
    if (text.size() > 1) text += ",";
    text += json(entry.name).dump() + ":{\"dtype\":\"" + safetensors_dtype(entry.type) +
            "\",\"shape\":" + json(entry.shape).dump() + ",\"data_offsets\":[" + std::to_string(entry.begin) + "," +
            std::to_string(entry.end) + "]}";
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
} catch (const json::type_error&) {
  throw UsageError("a safetensors file holds names and metadata as UTF-8 text; one of these is none");
}

}  // namespace levin
