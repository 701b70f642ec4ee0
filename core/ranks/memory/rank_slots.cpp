#include <levin/core/ranks/memory/rank_slots.h>
#include <c10/util/Exception.h>
#include <levin/core/ranks/memory/exchange_texts.h>
#include <levin/core/ranks/memory/process_watch.h>
#include <levin/core/ranks/memory/shared_block.h>
#include <levin/core/system/cores.h>
#include <levin/core/system/error.h>
#include <levin/core/system/random_id.h>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <climits>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace levin {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kIdBytes = 32, kReasonBytes = 512;
/// How long a rank looks for the others before it sleeps: more than the time between two ranks that do the same work.
constexpr std::chrono::microseconds kSpin{50};
/// How long a rank sleeps before it looks whether the one that it waits for is still there.
constexpr std::chrono::milliseconds kSleep{50};

/// The beginning of a rank's block. Others write to `sleepers` alone.
struct Control {
  std::atomic<uint32_t> round;     ///< last round that was published; who waits sleeps on it
  std::atomic<uint32_t> has_left;  ///< no round follows
  alignas(64) std::atomic<uint32_t> sleepers;
  alignas(64) char id[kIdBytes];
  char reason[kReasonBytes];  ///< why it has left; written before `has_left`
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(Control) <= RankSlots::kControlBytes);

Control& control_of(std::byte* block) { return *reinterpret_cast<Control*>(block); }

/// Rounds are numbered in 32 bits, and begin again with 0 after the last.
bool has_reached(uint32_t round, uint32_t wanted) { return static_cast<int32_t>(round - wanted) >= 0; }

void sleep_on(std::atomic<uint32_t>& word, uint32_t value) {
  const timespec limit{0, std::chrono::nanoseconds(kSleep).count()};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, value, &limit, nullptr, 0);
}

void wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void pause_core() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

struct RankSlots::Members {
  std::vector<SharedBlock> blocks = {};
  std::vector<ProcessWatch> processes = {};
};

RankSlots::RankSlots(int64_t rank, std::vector<std::byte*> blocks)
    : rank_(rank), blocks_(std::move(blocks)), takes_turns_(world_size() > cores_of_process()) {}

RankSlots::RankSlots(int64_t rank, std::vector<int64_t> names, std::unique_ptr<Members> members)
    : rank_(rank), names_(std::move(names)), members_(std::move(members)) {
  for (const SharedBlock& block : members_->blocks) blocks_.push_back(block.data());
  takes_turns_ = world_size() > cores_of_process();
}

RankSlots::~RankSlots() { leave("the process group has ended"); }

std::unique_ptr<RankSlots> RankSlots::meet(c10d::Store& store, int64_t rank, std::vector<int64_t> names) {
  const auto world_size = static_cast<int64_t>(names.size());
  auto members = std::make_unique<Members>();
  std::optional<SharedBlock> own;
  std::string offer = "none";
  try {
    own.emplace(kBlockBytes);
    const std::string id = random_id();
    std::memcpy(control_of(own->data()).id, id.data(), kIdBytes);
    offer = c10::str(getpid(), " ", own->descriptor(), " ", id);
  } catch (const Error&) {
  }
  const std::vector<std::string> offers = exchange_texts(store, "at", rank, world_size, offer);
  bool works = own.has_value();
  for (int64_t one = 0; one < world_size; ++one) {
    std::istringstream words(offers[static_cast<size_t>(one)]);
    std::string id;
    int64_t process = 0, descriptor = 0;
    if (!(words >> process >> descriptor >> id)) works = false;
    if (!works) continue;
    try {
      members->processes.emplace_back(process);
      if (one == rank) {
        members->blocks.push_back(std::move(*own));
        continue;
      }
      members->blocks.emplace_back(process, descriptor, kBlockBytes);
      if (std::memcmp(control_of(members->blocks.back().data()).id, id.data(), std::min(id.size(), kIdBytes)) != 0)
        works = false;  // a process that took the number of one that has ended
    } catch (const Error&) {
      works = false;
    }
  }
  for (const std::string& one : exchange_texts(store, "maps", rank, world_size, works ? "all" : "not all"))
    if (one != "all") return nullptr;
  members->blocks[static_cast<size_t>(rank)].withdraw();
  return std::unique_ptr<RankSlots>(new RankSlots(rank, std::move(names), std::move(members)));
}

std::byte* RankSlots::slot(int64_t rank, uint32_t round) const {
  return blocks_[static_cast<size_t>(rank)] + kControlBytes + (round % 2) * kSlotBytes;
}

void RankSlots::publish() {
  Control& own = control_of(blocks_[static_cast<size_t>(rank_)]);
  own.round.store(++published_);
  if (own.sleepers.load() > 0) wake_all(own.round);
}

int64_t RankSlots::name_of(int64_t rank) const { return names_.empty() ? rank : names_[static_cast<size_t>(rank)]; }

void RankSlots::leave(const std::string& reason) {
  Control& own = control_of(blocks_[static_cast<size_t>(rank_)]);
  if (leaves_.exchange(true)) return;
  std::strncpy(own.reason, reason.c_str(), kReasonBytes - 1);
  own.has_left.store(1);
  wake_all(own.round);
}

bool RankSlots::are_there(uint32_t round) const {
  for (std::byte* const block : blocks_)
    if (!has_reached(control_of(block).round.load(std::memory_order_acquire), round)) return false;
  return true;
}

void RankSlots::wait(uint32_t round, std::chrono::milliseconds timeout) const {
  const auto begin = Clock::now();
  for (int tries = 0; !are_there(round); ++tries) {
    if (takes_turns_)
      sched_yield();
    else
      pause_core();
    if (tries % 16 == 15 && Clock::now() - begin > kSpin) break;
  }
  for (int64_t one = 0; one < world_size(); ++one) wait_for(one, round, begin + timeout);
}

void RankSlots::wait_for(int64_t rank, uint32_t round, Clock::time_point deadline) const {
  Control& other = control_of(blocks_[static_cast<size_t>(rank)]);
  while (!has_reached(other.round.load(std::memory_order_acquire), round)) {
    // Whether it has left is read before its round: what it published before it left counts.
    if (leaves_.load()) C10_THROW_ERROR(DistBackendError, "this rank has left the group");
    const bool has_left = other.has_left.load() != 0;
    const bool is_gone =
        has_left || (members_ && rank != rank_ && members_->processes[static_cast<size_t>(rank)].has_ended());
    other.sleepers.fetch_add(1);
    const uint32_t now = other.round.load();
    if (!has_reached(now, round) && !is_gone && Clock::now() < deadline) sleep_on(other.round, now);
    other.sleepers.fetch_sub(1);
    if (has_reached(now, round)) return;
    if (has_left) {
      const std::string reason(other.reason, strnlen(other.reason, kReasonBytes));
      C10_THROW_ERROR(DistBackendError, c10::str("rank ", name_of(rank), " has left the group: ", reason));
    }
    if (is_gone)
      C10_THROW_ERROR(DistBackendError, c10::str("rank ", name_of(rank), " has ended: connection closed by peer"));
    if (Clock::now() >= deadline)
      C10_THROW_ERROR(DistBackendError, c10::str("timed out waiting for rank ", name_of(rank)));
  }
}

}  // namespace levin
