#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace levin::data {

/// Numbers and texts, one after another, between two processes on one machine.
class Message {
 public:
  Message() = default;
  explicit Message(std::string bytes) : bytes_(std::move(bytes)) {}
  void put(int64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number)); }
  void put(std::string_view text) {
    put(static_cast<int64_t>(text.size()));
    bytes_ += text;
  }
  /// Takes what was put, from the beginning. Throws std::runtime_error at the end.
  int64_t take_number();
  std::string take_text();
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = {};
  size_t taken_ = 0;
};

}  // namespace levin::data
