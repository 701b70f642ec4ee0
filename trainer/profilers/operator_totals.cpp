#include <levin/trainer/profilers/operator_totals.h>
#include <ATen/record_function.h>
#include <levin/trainer/profilers/steady_clock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace levin {
namespace {

/// What the callbacks add to. It outlives every thread, since an operator may end after the totals.
struct Counting {
  using Key = std::pair<int, std::string>;
  std::mutex mutex = {};
  const Profiler* profiler = nullptr;  ///< null if nobody counts
  uint64_t round = 0;                  ///< tells the operators of one OperatorTotals from those of the next
  std::map<Key, OperatorTotal> totals = {};
};

Counting& counting() {
  static auto* const made = new Counting;
  return *made;
}

/// An operator that runs in this thread.
struct Open : at::ObserverContext {
  explicit Open(const at::RecordFunction& operation);
  ~Open() override {
    if (innermost == this) innermost = outer;
  }

  static thread_local Open* innermost;
  Open* const outer;
  std::string_view name;  ///< valid while the operator runs
  uint64_t round = 0;
  int action = -1;
  int64_t inside = 0;  ///< nanoseconds of the operators inside this one
  bool is_in_itself = false;
  int64_t began = 0;
};
thread_local Open* Open::innermost = nullptr;

Open::Open(const at::RecordFunction& operation) : outer(innermost), name(operation.name()) {
  innermost = this;
  {
    const std::lock_guard lock(counting().mutex);
    round = counting().round;
    if (counting().profiler != nullptr)
      if (const ProfileSpan* span = ProfileSpan::innermost(*counting().profiler)) action = span->number();
  }
  for (const Open* one = outer; one != nullptr && !is_in_itself; one = one->outer) is_in_itself = one->name == name;
  began = steady_nanoseconds();
}

std::unique_ptr<at::ObserverContext> counted_begins(const at::RecordFunction& operation) {
  return std::make_unique<Open>(operation);
}

void counted_ends(const at::RecordFunction& /*operation*/, at::ObserverContext* context) {
  if (context == nullptr) return;
  auto* const open = static_cast<Open*>(context);
  const int64_t nanoseconds = steady_nanoseconds() - open->began;
  if (open->outer != nullptr) open->outer->inside += nanoseconds;
  const std::lock_guard lock(counting().mutex);
  if (counting().profiler == nullptr || counting().round != open->round) return;
  OperatorTotal& total = counting().totals[{open->action, std::string(open->name)}];
  total.calls += 1;
  if (!open->is_in_itself) total.nanoseconds += nanoseconds;
  total.self_nanoseconds += nanoseconds - open->inside;
}

}  // namespace

OperatorTotals::OperatorTotals(const Profiler& profiler) {
  {
    const std::lock_guard lock(counting().mutex);
    counts_ = counting().profiler == nullptr;
    if (!counts_) return;
    counting().profiler = &profiler;
    counting().round += 1;
    counting().totals.clear();
  }
  handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&counted_begins, &counted_ends)
                                      .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

OperatorTotals::~OperatorTotals() {
  if (!counts_) return;
  at::removeCallback(handle_);
  const std::lock_guard lock(counting().mutex);
  counting().profiler = nullptr;
  counting().totals.clear();
}

std::vector<OperatorTotal> OperatorTotals::totals() const {
  std::vector<OperatorTotal> totals;
  if (!counts_) return totals;
  const std::lock_guard lock(counting().mutex);
  for (const auto& [key, total] : counting().totals) {
    totals.push_back(total);
    totals.back().action = key.first;
    totals.back().name = key.second;
  }
  return totals;
}

}  // namespace levin
