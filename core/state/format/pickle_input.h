#pragma once
#include <levin/core/system/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace levin {

/// The bytes of a pickle, read in order: opcodes and the numbers and texts that follow them. Throws levin::UsageError,
/// with the file and the byte, if the pickle ends too early.
class PickleInput {
 public:
  /// Both must outlive the input; `file` is for messages.
  PickleInput(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  /// Reads the next opcode. Errors give its byte until the next call.
  uint8_t opcode();
  /// Returns the byte at which the current opcode is.
  size_t offset() const { return offset_; }

  std::string_view take(uint64_t count);
  /// Reads a little-endian integer of `width` bytes, up to 8.
  uint64_t unsigned_int(size_t width);
  /// Reads a two's complement integer of any width; returns nothing if it needs more than 8 bytes.
  std::optional<int64_t> signed_int(uint64_t width);
  /// Reads a big-endian float64.
  double float64();
  /// Reads the text before the next end of a line.
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
