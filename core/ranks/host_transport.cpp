#include <levin/core/ranks/host_transport.h>

#include <map>
#include <mutex>
#include <utility>

namespace levin {
namespace {

struct Offers {
  std::mutex mutex = {};
  std::map<std::string, std::weak_ptr<HostTransport>> by_key = {};
};

Offers& offers() {
  static Offers all;
  return all;
}

}  // namespace

void offer_transport(const std::string& key, const std::shared_ptr<HostTransport>& transport) {
  const std::lock_guard lock(offers().mutex);
  std::erase_if(offers().by_key, [](const auto& offer) { return offer.second.expired(); });
  offers().by_key[key] = transport;
}

std::shared_ptr<HostTransport> offered_transport(const std::string& rendezvous_key) {
  const std::lock_guard lock(offers().mutex);
  const auto found = offers().by_key.find(rendezvous_key.substr(0, rendezvous_key.find('/')));
  return found == offers().by_key.end() ? nullptr : found->second.lock();
}

}  // namespace levin
