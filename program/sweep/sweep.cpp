#include <levin/program/sweep/sweep.h>
#include <levin/core/run/absent_metric.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/program/runs/run_folders.h>
#include <levin/program/sweep/halving.h>
#include <levin/program/sweep/journal.h>
#include <levin/program/sweep/trial_process.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>

namespace levin::sweep {
namespace {

namespace fs = std::filesystem;
using Kind = TrialEvent::Kind;
using runs::RecordedRun;

constexpr int64_t kMostLosses = 3;
constexpr auto kPause = std::chrono::milliseconds(20);

/// What is known of a trial.
struct TrialState {
  std::vector<TrialEvent> ended = {};  ///< by rung
  std::string error = {};              ///< not empty: it has failed
  int64_t losses = 0;                  ///< how often its process was killed
  bool is_running = false;
};

struct Job {
  size_t trial = 0, rung = 0;
};

/// A trial that runs.
struct Running {
  Job job = {};
  TrialProcess process;
};

/// Returns the run of a trial, the newest if there are several; nullopt without one.
std::optional<RecordedRun> run_of(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return {};
  const std::vector<fs::path> found = runs::find_run_folders(folder);
  if (found.empty()) return {};
  return runs::read_run(found.back());
}

int64_t epochs_of(const RecordedRun& run) {
  const auto epochs = run.summary.is_object() ? run.summary.value("epochs", nlohmann::ordered_json()) : nullptr;
  return epochs.is_number_integer() ? epochs.get<int64_t>() : 0;
}

class Sweep {
 public:
  Sweep(const SweepPlan& plan, std::ostream& out)
      : plan_(plan),
        out_(out),
        journal_(plan.folder, plan.identity),
        halving_(static_cast<int64_t>(plan.trials.size()), plan.rungs.size(), plan.reduction_factor, plan.monitor.mode),
        trials_(plan.trials.size()),
        running_(static_cast<size_t>(plan.jobs)),
        places_(make_places(plan.jobs, plan.cores, plan.gpus)) {
    for (const TrialEvent& event : journal_.events()) take(event);
    if (plan.retries_failed) forget_failed();
    if (journal_.is_continued()) out_ << "resumes in " << plan.folder.string() << ": " << progress() << std::endl;
  }

  void run() {
    for (;;) {
      reap();
      if (received_signal() != 0 && !is_ending_) end_running();
      if (!is_ending_) start_jobs();
      const bool idle = std::ranges::none_of(running_, [](const auto& one) { return one.has_value(); });
      if (idle) break;
      std::this_thread::sleep_for(kPause);
    }
    if (!mistake_.empty()) throw UsageError(mistake_);
  }

  std::vector<TrialRow> rows() const {
    std::vector<TrialRow> rows;
    for (size_t i = 0; i < trials_.size(); ++i) rows.push_back(row_of(i));
    std::ranges::stable_sort(rows, [&](const TrialRow& a, const TrialRow& b) {
      if (!a.value || !b.value) return a.value.has_value() && !b.value.has_value();
      return is_better(*a.value, *b.value, plan_.monitor.mode);
    });
    return rows;
  }

 private:
  bool is_halving() const { return plan_.rungs.size() > 1; }
  fs::path folder_of(size_t trial) const { return trial_folder(plan_.folder, trial); }
  std::string mode() const { return Choice(plan_.monitor.mode).word(); }

  /// Applies an event of the journal.
  void take(TrialEvent event) {
    const auto index = static_cast<size_t>(event.trial);
    if (event.trial < 0 || index >= trials_.size()) return;  // of an earlier session with more trials
    TrialState& trial = trials_[index];
    if (event.kind == Kind::Again) trial = TrialState();
    if (event.kind == Kind::Failed) trial.error = event.error;
    if (event.kind == Kind::Lost) ++trial.losses;
    if (event.kind != Kind::Ended || event.rung != trial.ended.size()) return;
    // An earlier session may have asked for another metric.
    if (event.metric != plan_.monitor.metric || event.mode != mode()) {
      const std::optional<RecordedRun> run = run_of(folder_of(index));
      if (!run) return;
      judge(*run, event);
    }
    if (event.value) someone_logs_ = true;
    trial.ended.push_back(std::move(event));
  }

  void forget_failed() {
    for (size_t i = 0; i < trials_.size(); ++i) {
      if (trials_[i].error.empty()) continue;
      record({.kind = Kind::Again, .trial = static_cast<int64_t>(i)});
      std::error_code ignored;
      fs::remove_all(folder_of(i), ignored);
    }
  }

  void record(const TrialEvent& event) {
    journal_.append(event);
    take(event);
  }

  /// Returns the next trial to train, of the highest rung that has one.
  std::optional<Job> next_job() {
    std::vector<RungValues> ended(plan_.rungs.size());
    for (size_t i = 0; i < trials_.size(); ++i) {
      const TrialState& trial = trials_[i];
      for (size_t rung = 0; rung < trial.ended.size(); ++rung)
        ended[rung][static_cast<int64_t>(i)] = trial.ended[rung].value;
      if (!trial.error.empty()) ended[trial.ended.size()][static_cast<int64_t>(i)] = std::nullopt;
    }
    const std::vector<std::vector<int64_t>> entrants = halving_.entrants(ended);
    for (size_t rung = plan_.rungs.size(); rung-- > 0;)
      for (const int64_t index : entrants[rung]) {
        const TrialState& trial = trials_[static_cast<size_t>(index)];
        if (!trial.is_running && trial.error.empty() && trial.ended.size() == rung)
          return Job{static_cast<size_t>(index), rung};
      }
    return {};
  }

  void start_jobs() {
    for (size_t slot = 0; slot < running_.size(); ++slot) {
      if (running_[slot]) continue;
      std::optional<Job> job = next_job();
      while (job && (is_done_before(*job) || is_done(*job))) job = next_job();
      if (!job) return;
      start(*job, slot);
    }
  }

  /// If a trial had ended by itself before its rung did, the next rung has the same result.
  bool is_done_before(const Job& job) {
    if (job.rung == 0) return false;
    TrialEvent event = trials_[job.trial].ended[job.rung - 1];
    if (event.epochs >= plan_.rungs[job.rung - 1]) return false;
    event.rung = job.rung;
    record(event);
    return true;
  }

  /// If the trial has ended its rung, and an earlier session was killed before it wrote that down, does so.
  bool is_done(const Job& job) {
    if (!fs::exists(end_mark_of(job)) || !run_of(folder_of(job.trial))) return false;
    settle(job, {});
    return true;
  }

  void start(const Job& job, size_t slot) {
    const fs::path logs = plan_.folder / "logs";
    fs::create_directories(logs);
    TrialRequest request{.words = plan_.words(job.trial),
                         .place = places_[slot],
                         .epochs = job.rung + 1 == plan_.rungs.size() ? 0 : plan_.rungs[job.rung],
                         .log = logs / (folder_of(job.trial).filename().string() + ".log"),
                         .end_mark = end_mark_of(job)};
    const std::optional<RecordedRun> before = run_of(folder_of(job.trial));
    std::error_code ignored;
    if (before && !before->checkpoints.empty())
      request.words.insert(request.words.end(), {"--ckpt-path", "last"});
    else
      fs::remove_all(folder_of(job.trial), ignored);
    fs::remove(request.end_mark, ignored);
    running_[slot].emplace(Running{job, TrialProcess(request)});
    trials_[job.trial].is_running = true;
  }

  fs::path end_mark_of(const Job& job) const {
    return plan_.folder / "logs" /
           (folder_of(job.trial).filename().string() + ".rung_" + std::to_string(job.rung) + ".ended");
  }

  void reap() {
    for (std::optional<Running>& running : running_) {
      if (!running) continue;
      const std::optional<TrialOutcome> outcome = running->process.reap();
      if (!outcome) continue;
      const Job job = running->job;
      running.reset();
      trials_[job.trial].is_running = false;
      settle(job, *outcome);
    }
  }

  /// Records how the process of a trial has ended.
  void settle(const Job& job, const TrialOutcome& outcome) {
    TrialEvent event{.kind = Kind::Failed, .trial = static_cast<int64_t>(job.trial), .rung = job.rung};
    event.error = outcome.error;
    if (outcome.was_killed) {
      if (is_ending_) return;  // by this sweep
      event.kind = Kind::Lost;
      record(event);
      if (trials_[job.trial].losses < kMostLosses) {
        out_ << "trial " << job.trial << ": " << outcome.error << "; it is continued" << std::endl;
        return;
      }
      event.kind = Kind::Failed;
      event.error += ", " + std::to_string(kMostLosses) + " times";
    } else if (outcome.error.empty()) {
      const std::optional<RecordedRun> run = run_of(folder_of(job.trial));
      // What is written down of it counts for good.
      if (run && run->is_unread)
        throw Error("trial ", job.trial, ": ", run->problems.front(), "; the same command resumes it with the sweep");
      if (run) {
        event.kind = Kind::Ended;
        judge(*run, event);
        if (!run->metrics.contains(plan_.monitor.metric)) complain(*run);
      } else {
        event.error = "the run has left no folder";
      }
    }
    record(event);
    say(job.trial);
  }

  /// Fills in the value of a run that has ended.
  void judge(const RecordedRun& run, TrialEvent& event) const {
    const std::optional<runs::Best> best = run.best(plan_.monitor);
    event.value = best ? std::optional(best->value) : std::nullopt;
    event.step = best ? best->step : 0;
    event.epochs = epochs_of(run);
    event.metric = plan_.monitor.metric;
    event.mode = mode();
  }

  /// Ends the sweep if no trial has logged the monitor: it is misspelled, or nothing logs it.
  void complain(const RecordedRun& run) {
    if (someone_logs_ || !mistake_.empty()) return;
    Metrics known;
    for (const auto& [name, series] : run.metrics) known[name] = 0;
    mistake_ = "--monitor: " + absent_metric(plan_.monitor.metric, known);
    end_running();
  }

  void end_running() {
    is_ending_ = true;
    for (const std::optional<Running>& running : running_)
      if (running) running->process.send(SIGTERM);
  }

  TrialRow row_of(size_t index) const {
    const TrialState& trial = trials_[index];
    TrialRow row{.trial = static_cast<int64_t>(index), .status = "open", .error = trial.error};
    const std::vector<fs::path> folders =
        fs::is_directory(folder_of(index)) ? runs::find_run_folders(folder_of(index)) : std::vector<fs::path>();
    if (!folders.empty()) row.run_folder = folders.back();
    if (!trial.ended.empty()) row.epochs = trial.ended.back().epochs;
    if (!trial.error.empty()) {
      row.status = "failed";
      return row;
    }
    if (trial.ended.empty()) return row;
    row.value = trial.ended.back().value;
    row.step = trial.ended.back().step;
    row.status = trial.ended.size() == plan_.rungs.size() ? "completed" : "stopped";
    return row;
  }

  std::string progress() const {
    const auto count = std::ranges::count_if(
        trials_, [](const TrialState& trial) { return !trial.ended.empty() || !trial.error.empty(); });
    return std::to_string(count) + " of " + std::to_string(trials_.size()) + " trials";
  }

  void say(size_t index) const {
    const TrialRow row = row_of(index);
    char value[32] = "no finite value";
    if (row.value) std::snprintf(value, sizeof(value), "%.6g", *row.value);
    out_ << "trial " << index;
    if (row.status == "failed")
      out_ << " failed: " << row.error;
    else
      out_ << ": " << plan_.monitor.metric << " " << value << " after " << row.epochs
           << (row.epochs == 1 ? " epoch" : " epochs");
    out_ << "; " << progress() << std::endl;
  }

  const SweepPlan& plan_;
  std::ostream& out_;
  Journal journal_;
  Halving halving_;
  std::vector<TrialState> trials_;
  std::vector<std::optional<Running>> running_;
  std::vector<Place> places_;
  bool someone_logs_ = false;
  bool is_ending_ = false;
  std::string mistake_ = {};
};

}  // namespace

fs::path trial_folder(const fs::path& sweep, size_t trial) {
  char name[32];
  std::snprintf(name, sizeof(name), "trial_%03zu", trial);
  return sweep / name;
}

std::vector<TrialRow> run_sweep(const SweepPlan& plan, std::ostream& out) {
  Sweep sweep(plan, out);
  sweep.run();
  return sweep.rows();
}

}  // namespace levin::sweep
