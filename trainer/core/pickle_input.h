#pragma once
#include <levin/trainer/core/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace levin {

/// The bytes of a pickle, read in order: opcodes and the numbers and texts that follow them. Throws levin::UsageError,
/// with the file and the byte, where they end too early.
class PickleInput {
 public:
  /// Both must outlive the input; `file` is for messages.
  PickleInput(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  /// The next opcode; errors name its place until the one after it.
  uint8_t opcode();
  /// The byte at which the present opcode stands.
  size_t offset() const { return offset_; }

  std::string_view take(uint64_t count);
  /// A little-endian integer of `width` bytes, up to 8.
  uint64_t unsigned_int(size_t width);
  /// A two's complement integer of any width; nothing where it needs more than 8 bytes.
  std::optional<int64_t> signed_int(uint64_t width);
  /// A big-endian float64.
  double float64();
  /// The text before the next end of a line.
  std::string_view line();

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw UsageError(file_, ": the file is damaged or of an unknown kind (byte ", offset_,
                     " of its data.pkl): ", parts...);
  }

 private:
  std::string_view bytes_;
  const std::string& file_;
  size_t position_ = 0, offset_ = 0;
};

}  // namespace levin
