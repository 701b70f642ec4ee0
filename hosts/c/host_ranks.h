#pragma once
#include <levin/core/ranks/host_transport.h>
#include <levin/core/ranks/store_server.h>
#include <levin/hosts/c/c_api.h>
#include <levin/trainer/launch/environment.h>

#include <chrono>
#include <memory>
#include <optional>

namespace levin::c {

/// Ranks that the host has started, ready to train together.
class HostRanks {
 public:
  /// Takes the host's ranks, which the object's end releases. Throws levin::UsageError for ranks that cannot be.
  explicit HostRanks(const levin_ranks& ranks);
  /// Tells all ranks where the store is that levin's ranks meet at. Collective. Throws levin::Error if an operation
  /// fails, or does not end in this time.
  void meet(std::chrono::milliseconds timeout);
  /// After `meet`.
  const LaunchEnvironment& environment() const { return environment_; }

 private:
  levin_ranks ranks_;
  std::shared_ptr<HostTransport> transport_;
  std::optional<StoreServer> store_ = {};  ///< of rank 0
  LaunchEnvironment environment_ = {};
};

}  // namespace levin::c
