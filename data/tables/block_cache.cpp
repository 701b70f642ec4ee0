#include <levin/data/tables/block_cache.h>
#include <levin/core/system/start_thread.h>
#include <levin/data/loading/worker_thread.h>

#include <utility>

namespace levin::data {
namespace {

int64_t bytes_of(const FieldDataset& fields) {
  int64_t bytes = 1;
  fields.tensors().visit(
      [&](std::string_view, const at::Tensor* tensor) { bytes += static_cast<int64_t>(tensor->nbytes()); });
  for (const VaryingField& field : fields.varying())
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

BlockCache::~BlockCache() {
  if (ahead_.joinable()) ahead_.join();
}

/// Makes the entry of a block that will be read. The caller holds the lock.
BlockCache::Promise BlockCache::claim(int64_t number) {
  auto promise = std::make_shared<std::promise<Block>>();
  used_.push_front(number);
  entries_[number] = {.block = promise->get_future().share(), .place = used_.begin()};
  return promise;
}

void BlockCache::forget(int64_t number) {
  used_.erase(entries_.at(number).place);
  entries_.erase(number);
}

BlockCache::Block BlockCache::fill(int64_t number, const Promise& promise) {
  try {
    Block block = std::make_shared<const FieldDataset>(read_(number));
    promise->set_value(block);
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_.at(number);
    entry.bytes = bytes_of(*block);
    bytes_ += entry.bytes;
    make_room(number);
    return block;
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      forget(number);  // first, so that who learns of it can ask again
    }
    promise->set_exception(std::current_exception());
    throw;
  }
}

/// Starts to read a block if that does not push out the one before it.
void BlockCache::read_ahead(int64_t number, const Block& before) {
  constexpr int64_t kHeld = 3;  // the block before, one that others may still use, and the new one
  const std::lock_guard lock(mutex_);
  if (number >= blocks_ || is_reading_ahead_ || entries_.contains(number) || bytes_of(*before) > most_bytes_ / kHeld)
    return;
  if (ahead_.joinable()) ahead_.join();
  try {
    ahead_ = start_thread("loading data", [this, number, promise = claim(number)] {
      prepare_worker_thread();
      try {
        fill(number, promise);
      } catch (...) {  // the block is read again when it is asked for
      }
      const std::lock_guard ended(mutex_);
      is_reading_ahead_ = false;
    });
    is_reading_ahead_ = true;
  } catch (const std::exception&) {  // the system permits no more threads: it is read when it is asked for
    forget(number);
  }
}

BlockCache::Block BlockCache::get(int64_t number) {
  bool is_next = false;
  {
    const std::lock_guard lock(mutex_);
    is_next = number == next_ && number + 1 < blocks_;
    next_ = number + 1;
  }
  Block block = find_or_read(number);
  if (is_next) read_ahead(number + 1, block);
  return block;
}

BlockCache::Block BlockCache::find_or_read(int64_t number) {
  Promise promise;
  {
    std::unique_lock lock(mutex_);
    if (const auto known = entries_.find(number); known != entries_.end()) {
      used_.splice(used_.begin(), used_, known->second.place);
      const std::shared_future<Block> block = known->second.block;
      lock.unlock();
      return block.get();
    }
    promise = claim(number);
  }
  return fill(number, promise);
}

}  // namespace levin::data
