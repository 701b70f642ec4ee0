#include <levin/hosts/c/host_ranks.h>
#include <levin/core/ranks/c_ranks.h>
#include <levin/core/system/error.h>
#include <levin/core/system/host_name.h>
#include <levin/core/system/random_id.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>

namespace levin::c {
namespace {

/// What rank 0 tells the others.
struct Meeting {
  std::array<char, 256> host = {};
  std::array<char, 64> key = {}, secret = {};
  int64_t port = 0;
};

void put(const std::string& text, std::span<char> place) {
  if (text.size() >= place.size()) throw Error("the text ", text, " is too long");
  std::ranges::copy(text, place.begin());
}

/// Returns whether the operation has ended within this time.
bool ends_in_time(HostTransport::Request& request, std::chrono::milliseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  while (!request.test()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

HostRanks::HostRanks(const levin_ranks& ranks) : ranks_(ranks), transport_(transport_of(ranks)) {}

void HostRanks::meet(std::chrono::milliseconds timeout) {
  const bool several_machines = ranks_.local_size != ranks_.size;
  auto memory = std::make_unique<Meeting>();
  Meeting& meeting = *memory;
  if (ranks_.rank == 0) {
    const std::string secret = several_machines ? random_id() : "";
    store_.emplace(0, StoreAccess{.on_loopback = !several_machines, .secret = secret});
    put(several_machines ? host_name() : "127.0.0.1", meeting.host);
    put("host-" + random_id(), meeting.key);
    put(secret, meeting.secret);
    meeting.port = store_->port();
  }
  const auto request = transport_->begin({.kind = HostTransport::Kind::Broadcast,
                                          .dtype = at::kByte,
                                          .from = &meeting,
                                          .to = &meeting,
                                          .count = static_cast<int64_t>(sizeof meeting)});
  if (!ends_in_time(*request, timeout)) {
    memory.release();  // the operation, which cannot be taken back, may still write to it
    throw Error("rank ", ranks_.rank, " waited ", timeout.count(),
                " ms for the other ranks to start their session; one has ended, hangs, or has not called "
                "levin_session_start");
  }
  environment_ = {.launcher = kHostAsLauncher,
                  .rank = ranks_.rank,
                  .world_size = ranks_.size,
                  .local_rank = ranks_.local_rank,
                  .local_world_size = ranks_.local_size,
                  .node_rank = ranks_.node,
                  .master_addr = meeting.host.data(),
                  .master_port = meeting.port,
                  .store_is_served = true,
                  .key = meeting.key.data(),
                  .secret = meeting.secret.data()};
  offer_transport(environment_.key, transport_);
}

}  // namespace levin::c
