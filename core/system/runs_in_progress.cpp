#include <levin/core/system/runs_in_progress.h>
#include <levin/core/system/console.h>

#include <map>
#include <mutex>
#include <thread>

namespace levin {
namespace {

/// The runs of one thread; a run started in a hook of another is in the same thread.
struct RunsOfThread {
  int all = 0;
  int shared = 0, seeded = 0;  ///< of those that draw from the default generators: all, and those with a seed
};

std::mutex g_mutex;
std::map<std::thread::id, RunsOfThread> g_runs;
bool g_said = false;

bool is_seed_in_doubt() {
  int seeded = 0, threads = 0;
  for (const auto& [thread, runs] : g_runs) {
    seeded += runs.seeded;
    threads += runs.shared > 0;
  }
  return threads > 1 && seeded > 0;
}

bool wants_own_generator(const RunDraws& draws) {
  if (!draws.is_seeded) return false;
  if (draws.generator != GeneratorChoice::Auto) return draws.generator == GeneratorChoice::Own;
  return draws.in_own_scope || !g_runs.empty();
}

}  // namespace

RunInProgress::RunInProgress(const RunDraws& draws) : is_seeded_(draws.is_seeded), thread_(std::this_thread::get_id()) {
  bool says = false;
  {
    const std::lock_guard lock(g_mutex);
    has_own_generator_ = wants_own_generator(draws);
    const bool draws_own = has_own_generator_ || (!draws.is_seeded && draws.in_own_scope);
    is_shared_ = !draws_own || draws.on_gpu;
    RunsOfThread& own = g_runs[thread_];
    own.all += 1;
    own.shared += is_shared_;
    own.seeded += is_shared_ && is_seeded_;
    says = is_seed_in_doubt() && !g_said;
    g_said = g_said || says;
  }
  if (says)
    console::warn(
        "two threads run trainers at the same time, and LibTorch has one generator of random numbers for all threads: "
        "what each draws (dropout, torch::randn) differs from run to run in spite of its seed; give each run a seed "
        "and set random_generator to \"own\" (docs/threads.md), or run them in processes of their own");
}

RunInProgress::~RunInProgress() {
  const std::lock_guard lock(g_mutex);
  const auto own = g_runs.find(thread_);
  own->second.shared -= is_shared_;
  own->second.seeded -= is_shared_ && is_seeded_;
  own->second.all -= 1;
  if (own->second.all == 0) g_runs.erase(own);
}

}  // namespace levin
