#pragma once
#include <levin/core/ranks/host_transport.h>
#include <levin/core/ranks/store_server.h>
#include <levin/hosts/c/c_api.h>
#include <levin/trainer/launch/environment.h>

#include <memory>
#include <optional>

namespace levin::c {

/// Ranks that the host has started, ready to train together.
class HostRanks {
 public:
  /// Tells all ranks where the store is that levin's ranks meet at. Collective. Throws levin::UsageError for ranks that
  /// cannot be, and levin::Error if an operation fails.
  explicit HostRanks(const levin_ranks& ranks);
  const LaunchEnvironment& environment() const { return environment_; }

 private:
  std::shared_ptr<HostTransport> transport_;
  std::optional<StoreServer> store_ = {};  ///< of rank 0
  LaunchEnvironment environment_ = {};
};

}  // namespace levin::c
