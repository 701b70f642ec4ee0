#pragma once
#include <levin/core/ranks/stream_socket.h>

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace levin {

/// A relay that forwards each connection to one socket to another socket, in one thread per connection, until it is
/// destroyed.
class SocketRelay {
 public:
  /// Opens the destination of an accepted connection; an empty socket rejects the connection. Called in the
  /// connection's thread.
  using Open = std::function<StreamSocket(const StreamSocket& accepted)>;

  SocketRelay(StreamSocket listener, Open open);
  ~SocketRelay();
  SocketRelay(const SocketRelay&) = delete;
  SocketRelay& operator=(const SocketRelay&) = delete;

  int64_t port() const { return listener_.port(); }

 private:
  struct Connection {
    StreamSocket accepted = {}, opened = {};
    bool is_open = false, ended = false;
    std::thread thread = {};
  };
  void accept_all();
  void serve(Connection& connection);
  /// Joins the threads of connections that have ended; returns how many connections are not open yet.
  size_t clean_up();

  StreamSocket listener_;
  Open open_;
  std::mutex mutex_ = {};  ///< guards the members below
  std::list<Connection> connections_ = {};
  bool ends_ = false;
  std::thread acceptor_ = {};
};

}  // namespace levin
