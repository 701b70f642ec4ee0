#pragma once
#include <c10/util/intrusive_ptr.h>
#include <levin/trainer/core/ignored_pipe_signal.h>
#include <levin/trainer/core/process_group.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace levin {

/// A store of c10d that processes meet at, as this process sees it.
struct RankStore {
  std::shared_ptr<IgnoredPipeSignal> pipes = std::make_shared<IgnoredPipeSignal>();
  std::shared_ptr<void> passage = {};  ///< what passes connections on where there is a secret; it outlives the store
  c10::intrusive_ptr<c10d::Store> store = {};
  int64_t port = 0;
};

/// Serves a store; `port` 0: on a free one. With a secret the store itself listens on loopback, and a gate before it
/// turns peers away that do not know the secret. Throws levin::Error where the port cannot be had.
RankStore serve_store(int64_t port, const StoreAccess& access, std::chrono::milliseconds timeout);

/// Connects to a store, and tries again until `timeout`. `several_machines`: a store that asks for a secret where none
/// is given is told apart. Throws levin::Error with the reason.
RankStore join_store(const std::string& host, int64_t port, const std::string& secret, bool several_machines,
                     std::chrono::milliseconds timeout);

}  // namespace levin
