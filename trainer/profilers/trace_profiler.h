#pragma once
#include <levin/core/run/profiler.h>
#include <levin/trainer/profilers/operator_recorder.h>
#include <levin/trainer/profilers/profile_files.h>
#include <levin/trainer/profilers/trace_file.h>
#include <levin/trainer/profilers/trace_profiler_options.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// Writes a trace of some steps: the actions of the run, and the operators that LibTorch runs in all threads of the
/// process, on the host's clock. A cycle of `wait`, `warmup` and `active` steps makes one file, written whole or not at
/// all when the cycle ends: fit-trace-cycle1.json.
/// Source: torch.profiler.schedule
class TraceProfiler final : public Profiler {
 public:
  using Options = TraceProfilerOptions;

  explicit TraceProfiler(const Parts& parts, Options options = {}) : Profiler(parts), options_(std::move(options)) {}
  void begin(const Output& output) override;

 protected:
  void on_start(const ProfileSpan& span) override;
  void on_stop(const ProfileSpan& span, int64_t began, int64_t ended) noexcept override;
  void end() override;

 private:
  enum class Phase { Waiting, WarmingUp, Active, Done };

  /// Called at the beginning of each step, in the thread that trains.
  void next_step(const ProfileSpan& first);
  Phase phase_of(int64_t step) const;
  void start_recording();
  /// `open`: the innermost action that goes on; null if none does.
  void write_cycle(const ProfileSpan* open);
  std::map<int, std::string> thread_names(const std::vector<TraceEvent>& events) const;

  Options options_;
  std::optional<Output> output_ = {};
  ProfileFiles files_ = {};
  Phase phase_ = Phase::Waiting;
  int64_t step_ = 0, cycles_ = 0;
  int training_thread_ = 0;
  std::vector<int64_t> step_began_ = {};  ///< of the active steps of this cycle
  std::optional<OperatorRecorder> operators_ = {};

  std::mutex mutex_ = {};
  std::atomic<bool> is_active_ = false;
  std::vector<TraceEvent> events_ = {};
};

}  // namespace levin
