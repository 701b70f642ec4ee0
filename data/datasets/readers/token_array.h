#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/choice.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace levin {
namespace data {

/// The type of the tokens of a file without a header.
enum class TokenType : uint8_t { Auto, UInt16, UInt32 };

}  // namespace data

template <>
inline constexpr auto kWords<data::TokenType> = words_of<data::TokenType>(
    {{"auto", data::TokenType::Auto}, {"uint16", data::TokenType::UInt16}, {"uint32", data::TokenType::UInt32}});

namespace data {

/// The tokens of one file, mapped into memory: little-endian uint16 or uint32 without a header, as nanoGPT writes them;
/// the same with llm.c's header; or a one-dimensional .npy array of whole numbers.
///
/// The header of llm.c is 256 int32: the magic number 20240520 and version 1 (uint16), or 20240801 and version 7
/// (uint32), then the number of tokens. Source: karpathy/llm.c, dev/data/data_common.py.
class TokenArray {
 public:
  /// With TokenType::Auto, a file without a header is uint32 if every second of its first numbers of 16 bits is below
  /// 16, and not all others are; otherwise uint16. Throws levin::UsageError that names the file if it is empty, if its
  /// size fits neither the type nor the header, and if `type` contradicts its header.
  TokenArray(const std::filesystem::path& path, TokenType type);

  const std::string& name() const { return name_; }
  int64_t size() const { return tokens_.size(0); }
  /// Returns the dtype of the tokens in the file.
  at::ScalarType dtype() const { return tokens_.scalar_type(); }
  /// Writes the tokens [begin, begin + count), which must exist, to `out`.
  void read(int64_t begin, int64_t count, int64_t* out) const;

 private:
  std::string name_;
  at::Tensor tokens_ = {};  // [tokens], contiguous, of whole numbers
};

}  // namespace data
}  // namespace levin
