#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace levin::data {

/// Numbers and texts, one after another.
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

/// What a child process has left: a message, and memory.
struct ChildAnswer {
  Message message = {};
  std::shared_ptr<std::byte[]> memory = {};
  int64_t bytes = 0;
};

/// Runs `work` in a child process, a copy of this one, and returns what it leaves: the message that it returns, and
/// what it writes to the file whose descriptor it gets.
///
/// The HDF5 library (1.10, and others) reads and writes outside of its memory for many damaged files; so it may end the
/// child, and not this process, which never calls it. Throws std::runtime_error with the text of what `work` threw, or
/// if the child died or took more than `seconds` of the processor, or 10 minutes.
ChildAnswer run_in_child(int64_t seconds, const std::function<Message(int file)>& work);

}  // namespace levin::data
