#include <levin/core/ranks/memory/collective_queue.h>
#include <c10/util/Exception.h>
#include <levin/core/system/error.h>
#include <levin/core/system/start_thread.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace levin {
namespace {

/// What a rank writes before the bytes of a round.
struct Head {
  char name[48];
  int64_t bytes;
  int64_t round;
};
static_assert(sizeof(Head) == 64);

/// The thread that continues calls for which no thread waits.
class Straggler {
 public:
  static Straggler& of_process() {
    static Straggler one;
    return one;
  }
  void add(const std::weak_ptr<CollectiveQueue>& queue) {
    const std::lock_guard lock(mutex_);
    queues_.push_back(queue);
    if (!thread_.joinable()) thread_ = start_thread("the collectives of ranks", [this] { run(); });
  }

 private:
  static constexpr std::chrono::milliseconds kPause{5};
  ~Straggler() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    ended_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  void run() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      std::vector<std::shared_ptr<CollectiveQueue>> alive;
      std::erase_if(queues_, [&](const auto& one) {
        const auto queue = one.lock();
        if (queue) alive.push_back(queue);
        return !queue;
      });
      lock.unlock();
      for (const auto& queue : alive) queue->advance_if_free();
      alive.clear();
      lock.lock();
      ended_.wait_for(lock, kPause, [&] { return ends_; });
    }
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::vector<std::weak_ptr<CollectiveQueue>> queues_;
  std::thread thread_;
};

}  // namespace

CollectiveQueue::CollectiveQueue(std::unique_ptr<RankSlots> slots) : slots_(std::move(slots)) {}

std::shared_ptr<CollectiveQueue> CollectiveQueue::make(std::unique_ptr<RankSlots> slots) {
  std::shared_ptr<CollectiveQueue> queue(new CollectiveQueue(std::move(slots)));
  Straggler::of_process().add(queue);
  return queue;
}

std::shared_ptr<CollectiveQueue::Call> CollectiveQueue::begin(Collective collective) {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  auto call = std::make_shared<Call>();
  call->collective = std::move(collective);
  calls_.push_back(call);
  advance_all();
  return call;
}

void CollectiveQueue::finish(const std::shared_ptr<Call>& call, std::chrono::milliseconds timeout) {
  const std::lock_guard lock(mutex_);
  while (!call->is_done) {
    if (failure_) std::rethrow_exception(failure_);
    advance(&timeout);
  }
}

bool CollectiveQueue::is_done(const std::shared_ptr<Call>& call) {
  const std::lock_guard lock(mutex_);
  try {
    if (!call->is_done && !failure_) advance_all();
  } catch (const std::exception&) {  // `finish` throws it
  }
  return call->is_done || failure_;
}

bool CollectiveQueue::advance_if_free() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || failure_ || calls_.empty()) return false;
  try {
    advance_all();
  } catch (const std::exception&) {
    return false;  // who waits for it will see the failure
  }
  return !calls_.empty();
}

void CollectiveQueue::abort(const std::string& reason) {
  slots_->leave(reason);  // ends the wait of a thread that has the lock
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::make_exception_ptr(Error(reason));
  calls_.clear();
}

void CollectiveQueue::advance_all() {
  while (!calls_.empty() && advance(nullptr)) {
  }
}

bool CollectiveQueue::advance(const std::chrono::milliseconds* timeout) {
  Call& call = *calls_.front();
  try {
    if (call.round == 0) call.first_round = slots_->published() + 1;
    const CollectiveSlots slots(*slots_, call.first_round);
    for (;; ++call.round) {
      if (call.round > 0) {
        const uint32_t before = call.first_round + static_cast<uint32_t>(call.round) - 1;
        if (!slots_->are_there(before)) {
          if (timeout == nullptr) return false;
          slots_->wait(before, *timeout);
        }
        check_same(call, call.round - 1);
      }
      if (!call.collective.run(slots, call.round)) break;
      Head head = {{}, call.collective.bytes, call.round};
      std::strncpy(head.name, call.collective.name, sizeof(head.name) - 1);
      std::memcpy(slots_->slot(slots_->rank(), slots_->published() + 1), &head, sizeof(head));
      slots_->publish();
    }
  } catch (const std::exception& error) {
    failure_ = std::current_exception();
    slots_->leave(message_of(error));
    calls_.clear();
    throw;
  }
  call.is_done = true;
  call.collective.run = nullptr;  // it holds tensors
  calls_.pop_front();
  return true;
}

void CollectiveQueue::check_same(const Call& call, int64_t round) const {
  for (int64_t rank = 0; rank < slots_->world_size(); ++rank) {
    Head head;
    std::memcpy(&head, slots_->slot(rank, call.first_round + static_cast<uint32_t>(round)), sizeof(head));
    head.name[sizeof(head.name) - 1] = '\0';
    if (std::strcmp(head.name, call.collective.name) == 0 && head.bytes == call.collective.bytes && head.round == round)
      continue;
    throw Error("the ranks call different collectives: rank ", slots_->name_of(slots_->rank()), " is in ",
                call.collective.name, " of ", call.collective.bytes, " bytes, rank ", slots_->name_of(rank), " in ",
                head.name, " of ", head.bytes, " bytes");
  }
}

}  // namespace levin
