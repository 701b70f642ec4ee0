#pragma once
#include <levin/trainer/fit/assembly.h>
#include <levin/trainer/loops/evaluation_loop.h>
#include <levin/trainer/loops/fit_steps.h>
#include <levin/trainer/loops/training_loader.h>
#include <levin/trainer/session/session.h>
#include <levin/trainer/session/session_setup.h>

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace levin {

/// The run of a session: what its calls do. Session only forwards to it, so that it can be moved.
class Session::Impl {
 public:
  explicit Impl(SessionSetup setup);

  /// `program` runs the batch in place of the run's program; null: the run's.
  StepResult step(data::LoadedBatch loaded, StepProgram* program = nullptr);
  void end_epoch();
  std::vector<Metrics> validate(data::Loaders loaders);
  void set_loader(data::Loaders loaders);
  data::LoadedBatch next_batch();
  const TrainingLoader& loader() const { return *loader_; }
  void save(const std::filesystem::path& path, SaveCheckpointOptions how);
  void register_state(const std::string& name, std::function<State()> save, std::function<void(const State&)> load);
  RunResult finish();
  void finish_or_fail() noexcept;

  RunContext& run() { return run_; }
  const Assembly& assembly() const { return assembly_; }
  const RunContext& run() const { return run_; }
  bool next();
  bool is_over() const { return !is_running() || is_over_; }
  bool is_running() const { return phase_ == Phase::Running; }
  bool due_to_save() const { return run_.saves.has_requests(); }
  /// Throws if the session has ended.
  void check_running(const char* call) const;
  /// Throws if this thread is inside of a step or validation of the session, and so holds `updates`.
  void refuse_inside(const char* call) const;

  SessionControl control = {};
  std::shared_ptr<WeightsPublisher> weights = std::make_shared<WeightsPublisher>();
  mutable std::mutex updates = {};  ///< is held while weights may change
  std::function<void(const SessionState&)> progress = {};
  double progress_every_seconds = 0;

 private:
  /// Holds `updates`, and says which thread does.
  class Turn;
  enum class Phase { Running, Finished, Failed };

  /// Runs a part of the session; if it throws, the session has failed.
  template <class Part>
  void guarded(const Part& part);
  void begin();
  BatchPlace place(data::LoadedBatch& loaded);
  /// Does what is left of the newest batch: schedulers that follow a metric, and the end of its epoch.
  void finish_turn();
  void take_requests();
  void after_step();
  void publish_state();
  /// Returns whether the newest batch was the last of an epoch that has not been ended yet.
  bool at_end_of_epoch() const { return steps_.is_inside_epoch() && run_.state.counters.last_batch; }
  State host_states() const;

  const ResolvedOptions options_;
  const Placement placement_;
  const std::shared_ptr<ProcessGroup> ranks_;
  const bool host_saves_;
  const RunInputs inputs_;
  Assembly assembly_;
  RunContext& run_;
  Fit fit_;
  const ValidationSchedule schedule_;
  FitSteps steps_;
  std::optional<TrainingLoader> loader_ = {};
  std::optional<EvaluationLoop> validation_ = {};
  std::map<std::string, std::function<State()>> host_states_ = {};
  State resumed_host_states_ = State::dict();
  Phase phase_ = Phase::Running;
  bool is_over_ = false, has_stepped_ = false;
  std::atomic<bool> is_busy_ = false;         ///< a thread is in a step
  std::atomic<std::thread::id> inside_ = {};  ///< the thread that holds `updates`; of none, the empty id
  int64_t rows_shown_ = 0;                    ///< log rows of the run when `control` got its metrics
  double progress_at_ = 0;                    ///< seconds of the run
  const int exceptions_at_start_ = std::uncaught_exceptions();
};

}  // namespace levin
