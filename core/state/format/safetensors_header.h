#pragma once
#include <c10/core/ScalarType.h>
#include <levin/core/state/safetensors.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// The size of the first field of a safetensors file: the header's length, little-endian.
constexpr uint64_t kSafetensorsLengthBytes = 8;
/// The longest header that is accepted, as in the format's own library.
constexpr uint64_t kSafetensorsMaxHeaderBytes = 100'000'000;

/// One tensor of a safetensors file. `begin` and `end` are byte offsets from the header's end.
struct SafetensorsEntry {
  std::string name = {};
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> shape = {};
  uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries = {};  ///< in file order, without gaps
  SafetensorsMetadata metadata = {};
};

/// Parses and checks the JSON text of a header in a file with `data_bytes` bytes after it: dtypes, shapes and offsets
/// agree, and tensors fill the file without gaps or overlaps. Throws levin::UsageError whose text starts with `file`.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& file);

/// Returns the header's JSON text, padded with spaces so that the bytes after it are aligned to 8 bytes. Throws
/// levin::UsageError for a name or text that is not UTF-8.
std::string safetensors_header_text(const SafetensorsHeader& header);

/// Returns the format's name of a dtype ("F32"); nullptr if it has none.
const char* safetensors_dtype(at::ScalarType type);

}  // namespace levin
