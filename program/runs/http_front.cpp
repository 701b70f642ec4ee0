#include <levin/program/runs/http_front.h>
#include <arpa/inet.h>
#include <levin/core/system/error.h>
#include <levin/program/runs/http_connection.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace levin::runs {
namespace {

using Stage = HttpConnection::Stage;
using Clock = HttpConnection::Clock;

constexpr size_t kMostConnections = 256, kMostOfAddress = 64;
constexpr size_t kMostAcceptedAtOnce = 64;
constexpr size_t kMostBodyBytes = 64 << 20;
constexpr int kTick = 100;  // milliseconds
constexpr std::chrono::milliseconds kPatience{1000};

StreamSocket listen_at(const addrinfo& where) {
  StreamSocket socket(::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, where.ai_protocol));
  if (!socket) return {};
  // SO_REUSEPORT would let a second server take a part of the requests.
  const int on = 1, off = 0;
  ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (where.ai_family == AF_INET6) ::setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (::bind(socket.descriptor(), where.ai_addr, where.ai_addrlen) != 0) return {};
  if (::listen(socket.descriptor(), SOMAXCONN) != 0) return {};
  return socket;
}

/// Returns what tells clients apart: an address of IPv4, and of IPv6 the network, of which a client may have all.
std::string client_of(const sockaddr_storage& from) {
  if (from.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(from).sin_addr;
    return {reinterpret_cast<const char*>(&four), sizeof(four)};
  }
  const auto& six = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
  const char* const bytes = reinterpret_cast<const char*>(&six);
  return IN6_IS_ADDR_V4MAPPED(&six) ? std::string(bytes + 12, 4) : std::string(bytes, 8);
}

/// Requests with the same key can have the same answer.
std::string key_of(const HttpRequest& request) { return request.target + "\n" + request.header("if-none-match"); }

/// The connections of a server, and the thread that makes their answers.
class Connections {
 public:
  Connections(const StreamSocket& listener, const HttpHandlers& handlers)
      : listener_(listener), handlers_(handlers), thread_(handlers.make) {
    rlimit files = {};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) most_ = std::clamp<size_t>(files.rlim_cur / 2, 1, kMostConnections);
  }

  /// Waits until there is something to do, at most for a tick, and does it.
  void go_on() {
    wait();
    const Clock::time_point now = Clock::now();
    for (size_t i = 0; i < connections_.size(); ++i)
      if (polled_[i + 2].revents != 0 && connections_[i].go_on(now)) admit(connections_[i], now);
    if (std::optional<HttpAnswer> made = thread_.take()) hand_out(*made, now);
    for (HttpConnection& connection : connections_) connection.expire(now);
    std::erase_if(connections_, is_closed);
    accept(now);
    std::erase_if(connections_, is_closed);
    start_answer();
  }

  bool end() {
    connections_.clear();
    return thread_.end(kPatience);
  }

 private:
  static bool is_closed(const HttpConnection& connection) { return connection.stage() == Stage::Closed; }

  void wait() {
    polled_.clear();
    // A descriptor below zero is left out.
    polled_.push_back({.fd = can_accept_ ? listener_.descriptor() : -1, .events = POLLIN, .revents = 0});
    polled_.push_back({.fd = thread_.descriptor(), .events = POLLIN, .revents = 0});
    for (const HttpConnection& connection : connections_)
      polled_.push_back({.fd = connection.descriptor(), .events = connection.events(), .revents = 0});
    if (::poll(polled_.data(), polled_.size(), kTick) < 0)
      for (pollfd& one : polled_) one.revents = 0;  // a signal
  }

  /// Accepts new connections, a few at a time, so that the others are served meanwhile.
  void accept(Clock::time_point now) {
    can_accept_ = true;
    for (size_t i = 0; i < kMostAcceptedAtOnce; ++i) {
      sockaddr_storage from = {};
      socklen_t size = sizeof(from);
      StreamSocket socket(
          ::accept4(listener_.descriptor(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        const bool has_no_room = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (!has_no_room) continue;    // this connection has ended already
        can_accept_ = give_place("");  // else it is tried again at the next tick
        if (!can_accept_) return;
        continue;
      }
      const int on = 1;
      ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      const std::string client = client_of(from);
      make_room_for(client);
      HttpConnection& connection = connections_.emplace_back(std::move(socket), client, now);
      if (connection.read(now)) admit(connection, now);  // most requests are there at once
    }
  }

  void make_room_for(const std::string& client) {
    size_t all = 0, of_client = 0;
    for (const HttpConnection& connection : connections_) {
      all += is_closed(connection) ? 0 : 1;
      of_client += !is_closed(connection) && connection.address() == client ? 1 : 0;
    }
    if (of_client >= std::min(kMostOfAddress, most_))
      give_place(client);
    else if (all >= most_)
      give_place("");
  }

  /// Closes a connection of a client, or, without one, one that was answered, else one of the client that has the most.
  /// Returns false if there is none.
  bool give_place(std::string client) {
    if (client.empty()) {
      const auto answered = std::ranges::find(connections_, Stage::Lingering, &HttpConnection::stage);
      if (answered != connections_.end()) {
        answered->close();
        return true;
      }
      std::map<std::string, size_t> counts;
      for (const HttpConnection& connection : connections_)
        if (!is_closed(connection)) ++counts[connection.address()];
      if (counts.empty()) return false;
      client = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
    }
    // The stages are declared in this order, and the connections stand in the order in which they came.
    HttpConnection* last = nullptr;
    for (HttpConnection& connection : connections_)
      if (!is_closed(connection) && connection.address() == client && (!last || connection.stage() < last->stage()))
        last = &connection;
    if (last != nullptr) last->close();
    return last != nullptr;
  }

  void admit(HttpConnection& connection, Clock::time_point now) {
    if (const std::optional<HttpAnswer> answer = handlers_.admit(connection.request()))
      connection.answer(*answer, now);
    else
      connection.wait();
  }

  /// Has an answer made for the connection that waits the longest, and for those that wait for the same.
  void start_answer() {
    if (thread_.is_busy()) return;
    const auto first = std::ranges::find(connections_, Stage::Waiting, &HttpConnection::stage);
    if (first == connections_.end()) return;
    const std::string key = key_of(first->request());
    for (HttpConnection& connection : connections_)
      if (connection.stage() == Stage::Waiting && key_of(connection.request()) == key) connection.ask();
    thread_.start(first->request());
  }

  void hand_out(const HttpAnswer& answer, Clock::time_point now) {
    if (answer.body) make_room_for_body(answer.body.get());
    for (HttpConnection& connection : connections_)
      if (connection.stage() == Stage::Asked) connection.answer(answer, now);
  }

  /// Closes the oldest connections that are sent other bodies until there is room for this one.
  void make_room_for_body(const std::string* body) {
    std::set<const std::string*> bodies = {body};
    size_t bytes = body->size();
    for (const HttpConnection& connection : connections_)
      if (connection.body() && bodies.insert(connection.body().get()).second) bytes += connection.body()->size();
    for (HttpConnection& connection : connections_) {
      if (bytes <= kMostBodyBytes) return;
      if (!connection.body() || connection.body().get() == body) continue;
      const size_t freed = connection.body().use_count() == 1 ? connection.body()->size() : 0;
      connection.close();
      bytes -= freed;
    }
  }

  const StreamSocket& listener_;
  const HttpHandlers& handlers_;
  AnswerThread thread_;
  size_t most_ = kMostConnections;
  std::vector<HttpConnection> connections_ = {};
  std::vector<pollfd> polled_ = {};
  bool can_accept_ = true;
};

}  // namespace

HttpFront::HttpFront(const std::string& host, int64_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) == 0) {
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
    for (const addrinfo* at = found; at != nullptr && !listener_; at = at->ai_next) listener_ = listen_at(*at);
  }
  if (!listener_)
    throw UsageError("levin serve: cannot listen on ", host, ", port ", port,
                     "; is it in use? Choose another with --port, or another address with --host");
}

bool HttpFront::serve(const HttpHandlers& handlers, const std::function<bool()>& ends) const {
  Connections connections(listener_, handlers);
  while (!ends()) connections.go_on();
  return connections.end();
}

}  // namespace levin::runs
