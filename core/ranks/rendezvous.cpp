#include <levin/core/ranks/rendezvous.h>
#include <levin/core/ranks/c10d_error.h>
#include <levin/core/ranks/host_address.h>
#include <levin/core/ranks/rank_store.h>
#include <levin/core/system/error.h>

#include <cmath>

namespace levin {
namespace {

/// With one decimal.
double seconds_since(std::chrono::steady_clock::time_point begin) {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return std::round(passed.count() * 10) / 10;
}

}  // namespace

std::string place_of(const Rendezvous& rendezvous) {
  return c10::str(rendezvous.master_addr, ":", rendezvous.master_port);
}

RankStore open_store(const Rendezvous& rendezvous, std::chrono::milliseconds timeout) {
  check_resolvable(rendezvous.master_addr, "MASTER_ADDR", timeout);
  const auto begin = std::chrono::steady_clock::now();
  try {
    if (rendezvous.hosts_store)
      return serve_store(rendezvous.master_port,
                         {.on_loopback = is_loopback(rendezvous.master_addr), .secret = rendezvous.secret}, timeout);
    return join_store(rendezvous.master_addr, rendezvous.master_port, rendezvous.secret, rendezvous.several_machines,
                      timeout);
  } catch (const TurnedAway& error) {
    throw UsageError("rank ", rendezvous.rank, " of ", rendezvous.world_size, " cannot join the others at ",
                     place_of(rendezvous), ": ", error.what());
  } catch (const std::exception& error) {
    if (rendezvous.hosts_store)
      throw UsageError("rank ", rendezvous.rank, " cannot serve the store that the ranks meet at on ",
                       place_of(rendezvous), "; choose another port with MASTER_PORT: ", c10d_reason(error));
    throw UsageError("rank ", rendezvous.rank, " of ", rendezvous.world_size, " has not reached ", place_of(rendezvous),
                     " in ", seconds_since(begin),
                     " seconds; does rank 0 run there, and do MASTER_ADDR and MASTER_PORT say so? ",
                     c10d_reason(error));
  }
}

}  // namespace levin
