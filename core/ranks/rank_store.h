#pragma once
#include <c10/util/intrusive_ptr.h>
#include <levin/core/ranks/store_server.h>
#include <levin/core/system/error.h>
#include <levin/core/system/ignored_pipe_signal.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace levin {

/// A c10d store that processes meet at, as this process reaches it.
struct RankStore {
  std::shared_ptr<IgnoredPipeSignal> pipes = std::make_shared<IgnoredPipeSignal>();
  std::shared_ptr<void> passage = {};  ///< the relay of connections, if there is a secret; it outlives the store
  c10::intrusive_ptr<c10d::Store> store = {};
  int64_t port = 0;
};

/// Serves a store on `port`, or on a free port if `port` is 0. With a secret the store itself listens on loopback,
/// behind a gate that rejects peers without the secret. Throws levin::Error if the port is not available.
RankStore serve_store(int64_t port, const StoreAccess& access, std::chrono::milliseconds timeout);

/// The store is there, and asks for another secret than this process has.
class TurnedAway : public Error {
 public:
  using Error::Error;
};

/// Connects to a store, with retries until `timeout`. With `several_machines`, a missing secret that the store asks for
/// is TurnedAway too. Throws levin::Error with the reason.
RankStore join_store(const std::string& host, int64_t port, const std::string& secret, bool several_machines,
                     std::chrono::milliseconds timeout);

}  // namespace levin
