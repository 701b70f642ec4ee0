#include <levin/data/datasets/readers/shard_list.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/data/datasets/readers/shard_cache.h>
#include <levin/data/download/cache_folder.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/remote/output_place.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

/// How often a shard is asked for, each time with the retries of a transfer.
constexpr int kAttempts = 3;

std::string described(const RemoteObject& object) {
  return std::to_string(object.size) + " bytes" + (object.version.empty() ? "" : ", version " + object.version);
}

}  // namespace

ShardList::ShardList(std::vector<std::string> places, const ShardOptions& options) : ahead_(options.prefetch_shards) {
  for (std::string& place : places) {
    const bool remote = levin::is_remote(place);
    auto name = std::make_shared<const std::string>(remote ? shown_url(place) : place);
    shards_.push_back({.place = std::move(place), .name = std::move(name), .is_remote = remote});
  }
  require_local("data.cache_folder", options.cache_folder);
  if (!std::ranges::any_of(shards_, &Shard::is_remote)) return;
  cache_ = std::make_shared<ShardCache>(
      options.cache_folder.empty() ? cache_folder() / "streams" : std::filesystem::path(options.cache_folder),
      options.cache_bytes);
}

RemoteObject ShardList::find_object(Shard& shard) {
  {
    const std::lock_guard lock(mutex_);
    if (!shard.object.url.empty()) return shard.object;
  }
  RemoteObject found = find_remote_object(shard.place);
  const std::lock_guard lock(mutex_);
  shard.object = found;
  return found;
}

MappedFilePtr ShardList::open(int64_t number, bool urgent, const std::function<bool()>& is_stopped) {
  Shard& shard = shards_[static_cast<size_t>(number)];
  if (!shard.is_remote) return map_file(shard.place, FileAccess::Sequential);
  for (int attempt = 1;; ++attempt) {
    const RemoteObject object = find_object(shard);
    try {
      MappedFilePtr file = cache_->get(object, *shard.name, urgent, is_stopped);
      const std::lock_guard lock(mutex_);
      shard.was_read = shard.was_read || file != nullptr;
      return file;
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      const std::string text = error.what();
      const std::string reason = text.find(*shard.name) == text.npos ? *shard.name + ": " + text : text;
      if (attempt == kAttempts || received_signal() != 0 || is_stopped()) throw Error(reason);
      console::info(reason + "; asking the server again");
    }
    // The server may have another object by now.
    RemoteObject now = find_remote_object(shard.place);
    const std::lock_guard lock(mutex_);
    if (shard.was_read && (now.size != object.size || now.version != object.version))
      throw Error(*shard.name, ": has changed since it was first read, from ", described(object), " to ",
                  described(now), "; the order of its samples is no longer the same");
    shard.object = std::move(now);
  }
}

}  // namespace levin::data
