#pragma once
#include <levin/core/ranks/host_transport.h>
#include <levin/hosts/c/c_api.h>

#include <memory>

namespace levin::c {

/// Returns a transport over ranks that are a table of C functions; it calls their `release` at its end. Throws
/// levin::UsageError for ranks that cannot be.
std::shared_ptr<HostTransport> transport_of(const levin_ranks& ranks);

}  // namespace levin::c
