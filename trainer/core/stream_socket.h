#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace levin {

/// A TCP socket, closed when it goes out of scope. It does not outlive exec.
class StreamSocket {
 public:
  StreamSocket() = default;
  explicit StreamSocket(int descriptor) : descriptor_(descriptor) {}
  StreamSocket(StreamSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  StreamSocket& operator=(StreamSocket&& other) noexcept;
  ~StreamSocket();

  /// Listens on the loopback address alone, or on all addresses of the machine. `port` 0: a free one. Throws
  /// levin::UsageError where the port is taken.
  static StreamSocket listen(bool on_loopback, int64_t port);
  /// Connects, and tries again until `timeout`. Throws levin::Error with the system's reason.
  static StreamSocket connect(const std::string& host, int64_t port, std::chrono::milliseconds timeout);

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  /// Hands the descriptor over to somebody who closes it.
  int release() { return std::exchange(descriptor_, -1); }
  int64_t port() const;

  /// The next connection; none once the socket is shut down.
  StreamSocket accept() const;
  /// Whether the other end of this connection is a socket of this process.
  bool is_from_this_process() const;
  /// Sending and receiving fail after this time; 0: never.
  void set_timeout(std::chrono::seconds timeout) const;
  /// False where not all bytes could be sent.
  bool send_all(std::string_view bytes) const;
  /// So many bytes; fewer where the connection ended or the time was up.
  std::string receive(size_t count) const;
  /// Ends what others wait for on this socket.
  void shut_down() const;

 private:
  int descriptor_ = -1;
};

/// Passes bytes on between two connections, both ways, until one of them ends.
void pass_on(const StreamSocket& a, const StreamSocket& b);

}  // namespace levin
