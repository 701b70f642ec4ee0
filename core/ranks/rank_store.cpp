#include <levin/core/ranks/rank_store.h>
#include <levin/core/ranks/bounded_call.h>
#include <levin/core/ranks/secret.h>
#include <levin/core/ranks/socket_relay.h>
#include <levin/core/ranks/torch_compat/tcp_store.h>
#include <levin/core/system/error.h>
#include <levin/core/system/start_thread.h>

#include <memory>
#include <mutex>
#include <utility>

namespace levin {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::chrono::seconds kToReach{10};

c10d::TCPStoreOptions store_options(int64_t port, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options = torch_compat::tcp_store_options();
  options.port = static_cast<std::uint16_t>(port);
  options.waitWorkers = false;
  options.timeout = timeout;
  return options;
}

/// Serves a store on a listener of ours, since c10d's own listens on all addresses of the machine.
c10::intrusive_ptr<c10d::TCPStore> serve(bool on_loopback, int64_t port, std::chrono::milliseconds timeout) {
  StreamSocket listener = StreamSocket::listen(on_loopback, port);
  c10d::TCPStoreOptions options = store_options(listener.port(), timeout);
  options.isServer = true;
  options.masterListenFd = listener.release();
  require_threads("the store that the ranks meet at", 1);  // c10d ends the process if it cannot start it
  return c10::make_intrusive<c10d::TCPStore>(kLoopback, options);
}

/// Connects to a store, which answers within the limit or is none.
c10::intrusive_ptr<c10d::TCPStore> join(const std::string& host, int64_t port, std::chrono::milliseconds timeout) {
  const auto store = std::make_shared<c10::intrusive_ptr<c10d::TCPStore>>();
  const auto connect = [store, host, port, timeout] {
    *store = c10::make_intrusive<c10d::TCPStore>(host, store_options(port, timeout));
  };
  if (!ends_within(timeout + kGrace, connect))
    throw Error("what listens there does not answer; is it the store that the ranks meet at?");
  return *store;
}

/// A relay to a store that asks for a secret. It reuses the connection that is already proven; c10d may open more.
class Passage {
 public:
  Passage(std::string host, int64_t port, std::string secret, StreamSocket first)
      : host_(std::move(host)),
        port_(port),
        secret_(std::move(secret)),
        first_(std::move(first)),
        relay_(StreamSocket::listen(/*on_loopback=*/true, /*port=*/0),
               [this](const StreamSocket& accepted) { return open(accepted); }) {}

  int64_t port() const { return relay_.port(); }

 private:
  /// Rejects connections from other processes, which may be another user's.
  StreamSocket open(const StreamSocket& accepted) {
    if (!accepted.is_from_this_process()) return {};
    {
      const std::lock_guard lock(mutex_);
      if (first_) return std::exchange(first_, StreamSocket());
    }
    StreamSocket another = StreamSocket::connect(host_, port_, kToReach);
    return prove(another, secret_) ? std::move(another) : StreamSocket();
  }

  std::string host_;
  int64_t port_;
  std::string secret_;
  std::mutex mutex_ = {};
  StreamSocket first_;
  SocketRelay relay_;
};

}  // namespace

RankStore serve_store(int64_t port, const StoreAccess& access, std::chrono::milliseconds timeout) {
  if (access.secret.empty()) {
    const auto store = serve(access.on_loopback, port, timeout);
    return {.store = store, .port = store->getPort()};
  }
  StreamSocket listener = StreamSocket::listen(access.on_loopback, port);
  const int64_t listens_on = listener.port();
  const auto store = serve(/*on_loopback=*/true, /*port=*/0, timeout);
  const auto open = [secret = access.secret, behind = store->getPort()](const StreamSocket& accepted) {
    return admit(accepted, secret) ? StreamSocket::connect(kLoopback, behind, kToReach) : StreamSocket();
  };
  return {.passage = std::make_shared<SocketRelay>(std::move(listener), open), .store = store, .port = listens_on};
}

RankStore join_store(const std::string& host, int64_t port, const std::string& secret, bool several_machines,
                     std::chrono::milliseconds timeout) {
  StreamSocket first = StreamSocket::connect(host, port, timeout);
  if (secret.empty()) {
    if (several_machines && asks_for_secret(first))
      throw TurnedAway("its store asks for a secret; set LEVIN_SECRET on this machine to the text that it has there");
    return {.store = join(host, port, timeout), .port = port};
  }
  if (!prove(first, secret))
    throw TurnedAway(
        "this rank was turned away: LEVIN_SECRET is not the text that it is there, or is set on this machine alone");
  const auto passage = std::make_shared<Passage>(host, port, secret, std::move(first));
  return {.passage = passage, .store = join(kLoopback, passage->port(), timeout), .port = port};
}

}  // namespace levin
