#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace levin {

struct RankStore;

/// Who may connect to a store.
struct StoreAccess {
  bool on_loopback = true;  ///< only processes of this machine
  std::string secret = {};  ///< secret that a peer must know; empty: anybody who reaches the port
};

/// A store that other processes meet at, served by this process while the object lives.
class StoreServer {
 public:
  /// Listens on this port, or on a free one if `port` is 0. Throws levin::UsageError if the port is in use.
  explicit StoreServer(int64_t port = 0, const StoreAccess& access = {});
  ~StoreServer();
  int64_t port() const;

 private:
  std::unique_ptr<RankStore> store_;
};

}  // namespace levin
