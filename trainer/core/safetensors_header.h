#pragma once
#include <c10/core/ScalarType.h>
#include <levin/trainer/core/safetensors.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// The first bytes of a safetensors file: the header's length, little-endian.
constexpr uint64_t kSafetensorsLengthBytes = 8;
/// A longer header is taken for damage, as the format's own library does.
constexpr uint64_t kSafetensorsMaxHeaderBytes = 100'000'000;

/// One tensor of a safetensors file: `begin` and `end` count bytes from the header's end.
struct SafetensorsEntry {
  std::string name = {};
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> shape = {};
  uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries = {};  ///< by their place in the file, without gaps
  SafetensorsMetadata metadata = {};
};

/// Reads and checks the JSON text of a header whose file holds `data_bytes` after it: dtypes, shapes and offsets agree,
/// and tensors fill the file without gaps and overlaps. Throws levin::UsageError that begins with `file`.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& file);

/// The header's JSON text, with spaces at its end so that what follows it is aligned to 8 bytes.
/// Throws levin::UsageError for a name or text that is no UTF-8.
std::string safetensors_header_text(const SafetensorsHeader& header);

/// The format's name of a dtype ("F32"); nullptr where it has none.
const char* safetensors_dtype(at::ScalarType type);

}  // namespace levin
