#include <levin/core/ranks/socket_relay.h>
#include <levin/core/system/start_thread.h>

#include <exception>
#include <utility>

namespace levin {
namespace {

/// The limit for strangers who connect and send nothing.
constexpr size_t kWaitingAtMost = 256;

}  // namespace

SocketRelay::SocketRelay(StreamSocket listener, Open open)
    : listener_(std::move(listener)),
      open_(std::move(open)),
      acceptor_(start_thread("the connections of ranks", [this] { accept_all(); })) {}

SocketRelay::~SocketRelay() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    listener_.shut_down();
    for (const Connection& one : connections_)
      for (const StreamSocket* socket : {&one.accepted, &one.opened}) socket->shut_down();
  }
  acceptor_.join();
  for (Connection& one : connections_) one.thread.join();
}

void SocketRelay::accept_all() {
  for (;;) {
    StreamSocket accepted = listener_.accept();
    const size_t waiting = clean_up();
    const std::lock_guard lock(mutex_);
    if (ends_ || !accepted) return;
    if (waiting >= kWaitingAtMost) continue;
    Connection& connection = connections_.emplace_back();
    connection.accepted = std::move(accepted);
    try {
      connection.thread = start_thread("a connection", [this, &connection] { serve(connection); });
    } catch (const std::exception&) {
      connections_.pop_back();  // closed: the other side tries again, or says that it could not connect
    }
  }
}

void SocketRelay::serve(Connection& connection) {
  StreamSocket opened;
  try {
    opened = open_(connection.accepted);
  } catch (const std::exception&) {
    // The connection is rejected.
  }
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    connection.opened = std::move(opened);
    connection.is_open = goes_on = connection.opened && !ends_;
  }
  if (goes_on)
    pass_on(connection.accepted, connection.opened);
  else
    connection.accepted.shut_down();
  const std::lock_guard lock(mutex_);
  connection.ended = true;
}

size_t SocketRelay::clean_up() {
  std::list<Connection> ended;
  size_t waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    for (auto one = connections_.begin(); one != connections_.end();) {
      const auto next = std::next(one);
      if (one->ended)
        ended.splice(ended.end(), connections_, one);
      else
        waiting += !one->is_open;
      one = next;
    }
  }
  for (Connection& one : ended) one.thread.join();
  return waiting;
}

}  // namespace levin
