#include <levin/data/remote/bucket_listing.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace levin {
namespace {

using Objects = std::vector<RemoteObject>;

/// What this process has found, by the folder's URL with a slash at its end.
struct Listings {
  std::mutex mutex = {};
  std::map<std::string, Objects> by_folder = {};
  std::unordered_map<std::string, RemoteObject> single = {};

  /// Returns the listing of the folder, or of one that it lies in; null if there is none.
  const Objects* covering(std::string folder) const {
    while (true) {
      if (const auto found = by_folder.find(folder); found != by_folder.end()) return &found->second;
      const size_t slash = folder.find_last_of('/', folder.size() - 2);
      if (slash == std::string::npos || folder[slash - 1] == '/') return nullptr;
      folder.resize(slash + 1);
    }
  }
};

Listings& listings() {
  static Listings all;
  return all;
}

std::span<const RemoteObject> part_of(const Objects& objects, const std::string& prefix) {
  const auto first = std::ranges::lower_bound(objects, prefix, {}, &RemoteObject::url);
  const auto last =
      std::find_if_not(first, objects.end(), [&](const RemoteObject& one) { return one.url.starts_with(prefix); });
  return {first, last};
}

}  // namespace

std::span<const RemoteObject> objects_below(const std::string& folder) {
  const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
  Listings& all = listings();
  const std::lock_guard lock(all.mutex);
  const Objects* covering = all.covering(prefix);
  if (covering == nullptr) covering = &(all.by_folder[prefix] = list_remote_objects(prefix));
  return part_of(*covering, prefix);
}

const RemoteObject* listed_object(const std::string& url) {
  Listings& all = listings();
  const std::lock_guard lock(all.mutex);
  const Objects* const covering = all.covering(url.substr(0, url.rfind('/') + 1));
  if (covering == nullptr) return nullptr;
  const auto found = std::ranges::lower_bound(*covering, url, {}, &RemoteObject::url);
  return found != covering->end() && found->url == url ? &*found : nullptr;
}

RemoteObject known_object(const std::string& url) {
  if (const RemoteObject* const listed = listed_object(url)) return *listed;
  Listings& all = listings();
  {
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.single.find(url); found != all.single.end()) return found->second;
  }
  RemoteObject object = find_remote_object(url);
  const std::lock_guard lock(all.mutex);
  return all.single.try_emplace(url, std::move(object)).first->second;
}

}  // namespace levin
