#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace levin {

struct RankStore;

/// The meeting point of a run's ranks, and this process's rank.
struct Rendezvous {
  int64_t rank = 0, world_size = 1;
  std::string master_addr = "127.0.0.1";  ///< where the store is; it listens on loopback only if this is loopback
  int64_t master_port = 29500;
  bool hosts_store = false;  ///< this process serves the store; the others connect to it
  std::string key = {};      ///< distinguishes this start of the run from others that met at the same store
  bool several_machines = false;
  std::string secret = {};  ///< secret that ranks of several machines must know to meet; empty: none
};

/// Returns the address and port of the store.
std::string place_of(const Rendezvous& rendezvous);

/// Serves the store, or connects to it. Throws levin::UsageError if that fails or takes longer than the timeout.
RankStore open_store(const Rendezvous& rendezvous, std::chrono::milliseconds timeout);

}  // namespace levin
