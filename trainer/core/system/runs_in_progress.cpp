#include <levin/trainer/core/system/runs_in_progress.h>
#include <levin/trainer/core/system/console.h>

#include <map>
#include <mutex>
#include <thread>

namespace levin {
namespace {

/// The runs of one thread; a run started in a hook of another is in the same thread.
struct RunsOfThread {
  int all = 0, seeded = 0;
};

std::mutex g_mutex;
std::map<std::thread::id, RunsOfThread> g_runs;
bool g_said = false;

bool is_seed_in_doubt() {
  int seeded = 0;
  for (const auto& [thread, runs] : g_runs) seeded += runs.seeded;
  return g_runs.size() > 1 && seeded > 0;
}

}  // namespace

RunInProgress::RunInProgress(bool is_seeded) : is_seeded_(is_seeded), thread_(std::this_thread::get_id()) {
  bool says = false;
  {
    const std::lock_guard lock(g_mutex);
    RunsOfThread& own = g_runs[thread_];
    own.all += 1;
    own.seeded += is_seeded;
    says = is_seed_in_doubt() && !g_said;
    g_said = g_said || says;
  }
  if (says)
    console::warn(
        "two threads run trainers at the same time, and LibTorch has one generator of random numbers for all threads: "
        "what each draws (dropout, torch::randn) differs from run to run in spite of its seed; run them in processes "
        "of their own, or draw from generators of your own (docs/threads.md)");
}

RunInProgress::~RunInProgress() {
  const std::lock_guard lock(g_mutex);
  const auto own = g_runs.find(thread_);
  own->second.seeded -= is_seeded_;
  own->second.all -= 1;
  if (own->second.all == 0) g_runs.erase(own);
}

}  // namespace levin
