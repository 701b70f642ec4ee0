#include <levin/core/ranks/store_server.h>
#include <levin/core/ranks/c10d_error.h>
#include <levin/core/ranks/rank_store.h>
#include <levin/core/system/error.h>

namespace levin {

StoreServer::StoreServer(int64_t port, const StoreAccess& access) {
  try {
    store_ = std::make_unique<RankStore>(serve_store(port, access, c10d::Store::kDefaultTimeout));
  } catch (const std::exception& error) {
    throw UsageError("the store that the ranks meet at cannot be served on port ", port,
                     "; choose another with MASTER_PORT: ", c10d_reason(error));
  }
}

StoreServer::~StoreServer() = default;
int64_t StoreServer::port() const { return store_->port; }

}  // namespace levin
