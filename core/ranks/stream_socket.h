#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace levin {

/// A TCP socket, closed when it goes out of scope and on exec.
class StreamSocket {
 public:
  StreamSocket() = default;
  explicit StreamSocket(int descriptor) : descriptor_(descriptor) {}
  StreamSocket(StreamSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  StreamSocket& operator=(StreamSocket&& other) noexcept;
  ~StreamSocket();

  /// Listens on the loopback address only, or on all addresses of the machine; on a free port if `port` is 0. Throws
  /// levin::UsageError if the port is taken.
  static StreamSocket listen(bool on_loopback, int64_t port);
  /// Connects, with retries until `timeout`. Throws levin::Error with the system's reason.
  static StreamSocket connect(const std::string& host, int64_t port, std::chrono::milliseconds timeout);

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  /// Releases the descriptor to the caller, who closes it.
  int release() { return std::exchange(descriptor_, -1); }
  int64_t port() const;

  /// Waits for the next connection; returns an empty socket once this one is shut down.
  StreamSocket accept() const;
  /// Returns whether the other end of this connection is a socket of this process.
  bool is_from_this_process() const;
  /// Sets the timeout for sending and receiving; 0: none.
  void set_timeout(std::chrono::seconds timeout) const;
  /// Returns false if not all bytes could be sent.
  bool send_all(std::string_view bytes) const;
  /// Receives `count` bytes; fewer if the connection ended or timed out.
  std::string receive(size_t count) const;
  /// Ends all waits on this socket.
  void shut_down() const;

 private:
  int descriptor_ = -1;
};

/// Forwards bytes between two connections, both ways, until one of them ends.
void pass_on(const StreamSocket& a, const StreamSocket& b);

}  // namespace levin
