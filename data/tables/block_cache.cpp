#include <levin/data/tables/block_cache.h>

#include <utility>

namespace levin::data {
namespace {

int64_t bytes_of(const ArrayFields& fields) {
  int64_t bytes = 1;
  fields.fixed.visit(
      [&](std::string_view, const at::Tensor* tensor) { bytes += static_cast<int64_t>(tensor->nbytes()); });
  for (const VaryingField& field : fields.varying)
    bytes += static_cast<int64_t>(field.values.nbytes() + field.ends.size() * sizeof(int64_t));
  return bytes;
}

}  // namespace

void BlockCache::make_room(int64_t number) {
  for (auto last = used_.end(); bytes_ > most_bytes_ && last != used_.begin();) {
    --last;
    const auto entry = entries_.find(*last);
    if (*last == number || entry->second.bytes == 0) continue;
    bytes_ -= entry->second.bytes;
    entries_.erase(entry);
    last = used_.erase(last);
  }
}

BlockCache::Block BlockCache::get(int64_t number) {
  std::promise<Block> promise;
  {
    std::unique_lock lock(mutex_);
    if (const auto known = entries_.find(number); known != entries_.end()) {
      used_.splice(used_.begin(), used_, known->second.place);
      const std::shared_future<Block> block = known->second.block;
      lock.unlock();
      return block.get();
    }
    used_.push_front(number);
    entries_[number] = {.block = promise.get_future().share(), .place = used_.begin()};
  }
  try {
    Block block = std::make_shared<const ArrayFields>(read_(number));
    promise.set_value(block);
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_.at(number);
    entry.bytes = bytes_of(*block);
    bytes_ += entry.bytes;
    make_room(number);
    return block;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(mutex_);
    used_.erase(entries_.at(number).place);
    entries_.erase(number);
    throw;
  }
}

}  // namespace levin::data
