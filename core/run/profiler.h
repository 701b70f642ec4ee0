#pragma once
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace torch::nn {
class Module;
}

namespace levin {

enum class Stage;

/// What a profiler has measured of one action: a hook of a module or callback, a phase of a loop, or a span of the
/// user's.
struct ProfiledAction {
  std::string action = {};  ///< "run_training_batch", "[LightningModule]Net.optimizer_step"
  int64_t calls = 0;        ///< that have ended
  double seconds = 0;       ///< of the host, over all calls
  double self_seconds = 0;  ///< the same without the actions inside it
};

/// The totals of a profiler. Actions are in the order in which they first began.
struct ProfileTotals {
  double seconds = 0;  ///< of the whole call of fit, validate, test or predict
  std::vector<ProfiledAction> actions = {};

  /// Returns whether nothing was profiled.
  bool empty() const { return actions.empty(); }
  /// Returns the action of that name; null if it never ran.
  const ProfiledAction* find(std::string_view action) const;
};

/// The actions that the trainer itself measures. Their names are PyTorch Lightning's where its SimpleProfiler has the
/// same action.
enum class Action : int {
  RunTrainingEpoch,
  RunTrainingBatch,
  TrainDataloaderNext,
  ValNext,
  TestNext,
  PredictNext,
  SaveCheckpoint,
  ManualOptimizerStep,
  SanityCheck,
  Validation,
  Test,
  ReadMetrics,
  CheckpointContents,
  CheckpointWait,
  CheckpointCopy,
  ConfigureCallbacks,
  ConfigureOptimizers,
  OptimizerStep,
  OptimizerZeroGrad,
  ConfigureGradientClipping,
  LRSchedulerStep,
  ValidationModelEval,
  TestModelEval,
  PredictModelEval,
  ValidationModelZeroGrad,
  ModuleBeforeBatchTransfer,
  ModuleTransferBatch,
  ModuleAfterBatchTransfer,
  DataPrepare,
  DataSetup,
  DataTeardown,
  DataBeforeBatchTransfer,
  DataTransferBatch,
  DataAfterBatchTransfer,
  BatchToDevice,
  TrainingStep,
  Backward,
  ValidationStep,
  TestStep,
  PredictStep,
  StrategyOptimizerStep,
  kCount
};

class ProfileSpan;

/// Measures the actions of a run. The trainer begins and ends them by ProfileSpan; without a profiler a span is one
/// comparison. Actions may run in any thread.
class Profiler {
 public:
  /// The names of the parts of a run that stand in the names of actions: "Net", "SingleDeviceStrategy".
  struct Parts {
    std::string module = {}, data_module = {}, strategy = {};
  };
  /// Where and for whom a profiler writes.
  struct Output {
    Stage stage;                        ///< Fit, Validate, Test or Predict
    std::filesystem::path folder = {};  ///< the run's; empty if it has none
    c10::Device device = c10::kCPU;     ///< of this rank
    const torch::nn::Module* module = nullptr;
    int64_t rank = 0, world_size = 1;
    bool prints = true;  ///< the result is for the console too
    Action step;         ///< each of these begins a step of the run
  };

  explicit Profiler(const Parts& parts);
  virtual ~Profiler() = default;
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Returns the number by which an action is begun; the same name gets the same number.
  int number_of(std::string_view action);
  const std::string& name_of(int number) const;
  /// Returns the totals so far.
  ProfileTotals totals() const;

  /// Called once, before the loops and when the run's folder is known. Throws levin::UsageError if the profiler cannot
  /// write what it is asked for.
  virtual void begin(const Output& /*output*/) {}
  /// Ends the measurement and prints and writes the result, at the end of the run, also of one that failed. Further
  /// calls do nothing.
  void finish();

 protected:
  /// Prints and writes the result.
  virtual void end() {}
  /// Called at the beginning of an action, in its thread.
  virtual void on_start(const ProfileSpan& /*span*/) {}
  /// Called at its end. Times are nanoseconds of std::chrono::steady_clock.
  virtual void on_stop(const ProfileSpan& /*span*/, int64_t /*began*/, int64_t /*ended*/) noexcept {}

 private:
  friend class ProfileSpan;
  struct Count {
    std::string name;
    int64_t calls = 0, nanoseconds = 0, self_nanoseconds = 0, first = 0;
  };
  void add(const ProfileSpan& span, int64_t nanoseconds, int64_t self_nanoseconds) noexcept;
  int add_name(std::string name);

  const int64_t began_;
  int64_t ended_ = 0;  ///< 0 until `finish`
  mutable std::mutex mutex_ = {};
  std::deque<Count> counts_ = {};  ///< by number
  std::map<std::string, int, std::less<>> numbers_ = {};
  int64_t started_ = 0;  ///< actions so far, to order them
};

/// While it lives, an action runs. Spans of a thread end in the reverse order of their beginnings.
class [[nodiscard]] ProfileSpan {
 public:
  /// `profiler` may be null: then nothing is measured.
  ProfileSpan(Profiler* profiler, Action action) : ProfileSpan(profiler, static_cast<int>(action)) {}
  ProfileSpan(Profiler* profiler, int number) : profiler_(profiler) {
    if (profiler_ != nullptr) [[unlikely]]
      start(number);
  }
  ProfileSpan(Profiler* profiler, std::string_view action) : profiler_(profiler) {
    if (profiler_ != nullptr) [[unlikely]]
      start(profiler_->number_of(action));
  }
  ~ProfileSpan() {
    if (profiler_ != nullptr) [[unlikely]]
      stop();
  }
  ProfileSpan(const ProfileSpan&) = delete;
  ProfileSpan& operator=(const ProfileSpan&) = delete;
  static void* operator new(size_t) = delete;

  int number() const { return number_; }
  /// Returns the span around this one in its thread; null if there is none.
  const ProfileSpan* outer() const { return outer_; }
  /// Returns the innermost span of `profiler` in the calling thread; null if there is none.
  static const ProfileSpan* innermost(const Profiler& profiler);

 private:
  void start(int number);
  void stop() noexcept;

  Profiler* profiler_;
  int number_;
  ProfileSpan* outer_;  ///< of the same profiler
  ProfileSpan* before_;
  int64_t began_, inside_;  ///< nanoseconds; `inside_`: of the spans inside this one
};

/// Calls `part` as an action of the profiler, which may be null, and returns its result.
template <class Part>
decltype(auto) measured(Profiler* profiler, Action action, const Part& part) {
  const ProfileSpan span(profiler, action);
  return part();
}

}  // namespace levin
