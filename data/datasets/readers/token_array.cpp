#include <levin/data/datasets/readers/token_array.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/system/error.h>
#include <levin/data/files/bytes_view.h>
#include <levin/data/files/npy_file.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace levin::data {
namespace {

constexpr int64_t kLlmcHeader = 256 * sizeof(int32_t);

struct LlmcFormat {
  int32_t magic, version;
  at::ScalarType dtype;
};
constexpr std::array<LlmcFormat, 2> kLlmcFormats = {{{20240520, 1, at::kUInt16}, {20240801, 7, at::kUInt32}}};

int64_t bytes_in(const FileBytes& file) { return static_cast<int64_t>(file.size); }

int64_t token_bytes(at::ScalarType dtype) { return static_cast<int64_t>(c10::elementSize(dtype)); }

int32_t header_field(const FileBytes& file, int64_t index) {
  int32_t value = 0;
  std::memcpy(&value, file.data + index * static_cast<int64_t>(sizeof(value)), sizeof(value));
  return value;
}

/// Returns the format whose magic number the file begins with, or null.
const LlmcFormat* llmc_format(const FileBytes& file) {
  if (bytes_in(file) < kLlmcHeader) return nullptr;
  const auto found = std::ranges::find(kLlmcFormats, header_field(file, 0), &LlmcFormat::magic);
  return found == kLlmcFormats.end() ? nullptr : &*found;
}

/// Returns whether a file without a header holds uint32: no vocabulary has more than a million tokens, so their upper
/// halves are below 16.
bool looks_like_uint32(const FileBytes& file) {
  constexpr int64_t kFewest = 16, kLooked = 4096;
  if (bytes_in(file) % 4 != 0 || bytes_in(file) < kFewest * 4) return false;
  bool some_low_is_large = false;
  for (int64_t i = 0; i < std::min(bytes_in(file) / 4, kLooked); ++i) {
    std::array<uint16_t, 2> halves = {};
    std::memcpy(halves.data(), file.data + 4 * i, 4);
    if (halves[1] >= 16) return false;
    some_low_is_large |= halves[0] >= 16;
  }
  return some_low_is_large;
}

at::ScalarType raw_token_dtype(const FileBytes& file, TokenType type) {
  if (type == TokenType::Auto) return looks_like_uint32(file) ? at::kUInt32 : at::kUInt16;
  return type == TokenType::UInt16 ? at::kUInt16 : at::kUInt32;
}

at::Tensor tokens_of_bytes(const FileBytes& file, int64_t offset, at::ScalarType dtype) {
  const int64_t bytes = bytes_in(file) - offset;
  if (bytes % token_bytes(dtype) != 0)
    throw UsageError(file.name, ": ", bytes, " bytes of tokens are no whole number of ", dtype,
                     "; the file is cut off, or data.dtype is another");
  return bytes_view(file.data + offset, bytes, file.owner).view(dtype);
}

at::Tensor llmc_tokens(const FileBytes& file, const LlmcFormat& format) {
  const std::string name = file.name;
  if (const int32_t version = header_field(file, 1); version != format.version)
    throw UsageError(name, ": a file of tokens of llm.c in version ", version, "; levin reads version ",
                     format.version);
  const int64_t count = header_field(file, 2), bytes = bytes_in(file) - kLlmcHeader;
  if (count < 1 || count * token_bytes(format.dtype) != bytes)
    throw UsageError(name, ": its header says ", count, " tokens of ", format.dtype, ", but ", bytes,
                     " bytes follow; the file is cut off or broken");
  return tokens_of_bytes(file, kLlmcHeader, format.dtype);
}

at::Tensor npy_tokens(const std::filesystem::path& path) {
  at::Tensor values = map_npy(path);
  if (values.dim() != 1 || !c10::isIntegralType(values.scalar_type(), /*includeBool=*/false))
    throw UsageError(path.string(), ": an array of ", values.scalar_type(), " ", values.sizes(),
                     "; tokens are whole numbers in one dimension");
  if (values.scalar_type() == at::kUInt64)
    throw UsageError(path.string(), ": an array of uint64; save the tokens as uint16, uint32 or int64");
  if (values.size(0) == 0) throw UsageError(path.string(), ": the array is empty");
  return values.contiguous();
}

template <class T>
void copy_tokens(const at::Tensor& tokens, int64_t begin, int64_t count, int64_t* out) {
  std::copy_n(static_cast<const T*>(tokens.const_data_ptr()) + begin, count, out);
}

}  // namespace

TokenArray::TokenArray(const std::filesystem::path& path, TokenType type) : name_(path.string()) {
  const FileBytes file = map_file_bytes(path);
  if (file.size == 0) throw UsageError(name_, ": the file is empty");
  const LlmcFormat* const format = llmc_format(file);
  if (file.text().starts_with("\x93NUMPY"))
    tokens_ = npy_tokens(path);
  else if (format)
    tokens_ = llmc_tokens(file, *format);
  else
    tokens_ = tokens_of_bytes(file, 0, raw_token_dtype(file, type));
  if (type != TokenType::Auto && dtype() != raw_token_dtype(file, type))
    throw UsageError(name_, ": its header says ", dtype(), ", but data.dtype is ", Choice<TokenType>(type).word(),
                     "; leave data.dtype out");
}

void TokenArray::read(int64_t begin, int64_t count, int64_t* out) const {
  switch (dtype()) {
    case at::kUInt16:
      return copy_tokens<uint16_t>(tokens_, begin, count, out);
    case at::kUInt32:
      return copy_tokens<uint32_t>(tokens_, begin, count, out);
    case at::kByte:
      return copy_tokens<uint8_t>(tokens_, begin, count, out);
    case at::kChar:
      return copy_tokens<int8_t>(tokens_, begin, count, out);
    case at::kShort:
      return copy_tokens<int16_t>(tokens_, begin, count, out);
    case at::kInt:
      return copy_tokens<int32_t>(tokens_, begin, count, out);
    default:
      return copy_tokens<int64_t>(tokens_, begin, count, out);
  }
}

}  // namespace levin::data
