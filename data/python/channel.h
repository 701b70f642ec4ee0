#pragma once
#include <levin/data/python/descriptor.h>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace levin::data {

/// What a wait for a message ends with.
enum class Received { Message, Ended, TooLate };

/// Messages to and from a process of Python: JSON or whole numbers of 64 bits, with the length in front, over a socket;
/// a descriptor may come with one. Not thread-safe.
class Channel {
 public:
  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}
  /// Returns the two ends of a new socket. Throws levin::Error.
  static std::pair<Descriptor, Descriptor> ends();

  /// Returns false if the other side has closed.
  bool send(const nlohmann::ordered_json& message, int descriptor = -1);
  bool send_numbers(std::span<const int64_t> numbers);
  /// Waits for a message, `seconds` at most unless that is 0, or until `watch` (ChildProcess::watch) says that the
  /// process has ended. Throws levin::Error for what is no message.
  Received receive(int watch, double seconds, nlohmann::ordered_json& message, Descriptor& descriptor);
  void close() { socket_.close(); }

 private:
  bool send_body(std::string_view body, int descriptor);
  Received read(void* to, size_t bytes, int watch, double deadline, Descriptor& descriptor);

  Descriptor socket_ = {};
};

}  // namespace levin::data
