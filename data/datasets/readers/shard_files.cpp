#include <levin/data/datasets/readers/shard_files.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/start_thread.h>
#include <levin/core/system/warnings.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

namespace levin::data {

/// What the threads share.
struct ShardFiles::Ahead {
  struct Slot {
    bool done = false;  ///< `file` or `error` is there
    MappedFilePtr file = {};
    std::exception_ptr error = {};
  };
  using Lock = std::unique_lock<std::mutex>;

  /// The first turn that no thread has taken, of those to fetch now; -1 if there is none.
  int64_t next_turn() const {
    const int64_t end = std::min<int64_t>(turn + shards->ahead(), static_cast<int64_t>(order.size()));
    for (int64_t i = turn; i < end; ++i)
      if (shards->is_remote(order[static_cast<size_t>(i)]) && !slots.contains(i)) return i;
    return -1;
  }

  std::shared_ptr<ShardList> shards;
  const std::vector<int64_t>& order;
  std::mutex mutex = {};
  std::condition_variable wanted = {}, arrived = {};
  std::map<int64_t, Slot> slots = {};
  int64_t turn = 0;  ///< the next to be asked for
  std::atomic<bool> stop = false;
};

ShardFiles::ShardFiles(std::shared_ptr<ShardList> shards, std::vector<int64_t> order)
    : shards_(std::move(shards)), order_(std::move(order)) {}

ShardFiles::~ShardFiles() {
  if (ahead_) {
    const Ahead::Lock lock(ahead_->mutex);
    ahead_->stop = true;
    ahead_->wanted.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

MappedFilePtr ShardFiles::open_shard(int64_t shard) const {
  return shards_->open(shard, /*urgent=*/true, [] { return false; });
}

MappedFilePtr ShardFiles::open(int64_t turn) {
  const int64_t shard = order_[static_cast<size_t>(turn)];
  if (!ahead_ && shards_->is_remote(shard) && shards_->ahead() > 0) {
    ahead_.reset(new Ahead{.shards = shards_, .order = order_, .turn = turn});
    start_threads();
  }
  if (!ahead_) return open_shard(shard);
  Ahead& ahead = *ahead_;
  Ahead::Lock lock(ahead.mutex);
  ahead.turn = turn;
  ahead.slots.erase(ahead.slots.begin(), ahead.slots.lower_bound(turn));
  ahead.wanted.notify_one();
  if (!shards_->is_remote(shard)) {
    lock.unlock();
    return open_shard(shard);
  }
  ahead.arrived.wait(lock, [&] {
    const auto slot = ahead.slots.find(turn);
    return slot != ahead.slots.end() && slot->second.done;
  });
  const Ahead::Slot slot = std::move(ahead.slots.extract(turn).mapped());
  ahead.turn = turn + 1;
  ahead.wanted.notify_one();
  if (slot.error) std::rethrow_exception(slot.error);
  return slot.file;
}

void ShardFiles::start_threads() {
  for (int64_t i = 0; i < std::min<int64_t>(shards_->ahead(), shards_->size()); ++i) {
    try {
      threads_.push_back(start_thread("fetching shards", [ahead = ahead_, warnings = console::WarningScope::list()] {
        const console::WarningScope scope(warnings);
        fetch(*ahead);
      }));
    } catch (const Error&) {
      if (threads_.empty()) throw;
      return;
    }
  }
}

void ShardFiles::fetch(Ahead& ahead) {
  // Room may come as other processes read.
  constexpr auto kPause = std::chrono::milliseconds(50);
  Ahead::Lock lock(ahead.mutex);
  while (!ahead.stop) {
    const int64_t turn = ahead.next_turn();
    if (turn < 0) {
      ahead.wanted.wait(lock);
      continue;
    }
    ahead.slots[turn];  // taken
    const bool urgent = turn == ahead.turn;
    lock.unlock();
    Ahead::Slot slot;
    try {
      slot.file = ahead.shards->open(ahead.order[static_cast<size_t>(turn)], urgent, [&] { return ahead.stop.load(); });
    } catch (...) {
      slot.error = std::current_exception();
    }
    slot.done = slot.file || slot.error;
    lock.lock();
    if (slot.done) {
      ahead.slots[turn] = std::move(slot);
      ahead.arrived.notify_one();
    } else {
      ahead.slots.erase(turn);
      ahead.wanted.wait_for(lock, kPause);
    }
  }
}

}  // namespace levin::data
