#include <levin/trainer/profilers/trace_profiler.h>
#include <c10/util/StringUtil.h>
#include <levin/core/run/stage.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/trainer/profilers/steady_clock.h>

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

namespace levin {
namespace {

/// The track of the steps: it is no thread, since a step may end inside of an action.
constexpr int kSteps = 0;

/// Returns what a thread does, by the name that levin gives it.
std::string role_of(const std::string& name) {
  if (name == "levin-data") return "loader worker";
  if (name == "levin-ckpt") return "checkpoint writer";
  if (name == "levin-replica") return "replica";
  return name.empty() ? "thread" : name;
}

}  // namespace

void TraceProfiler::begin(const Output& output) {
  files_ = ProfileFiles(options_.files, output, "trace", "-cycle1.json");
  if (!files_)
    throw UsageError("trainer.profiler: trace writes files, and this ", to_string(output.stage),
                     " has no run's folder; set trainer.profiler.dirpath");
  output_ = output;
}

TraceProfiler::Phase TraceProfiler::phase_of(int64_t step) const {
  const int64_t cycle = options_.wait + options_.warmup + options_.active;
  if (options_.repeat > 0 && step >= cycle * options_.repeat) return Phase::Done;
  const int64_t place = step % cycle;
  if (place < options_.wait) return Phase::Waiting;
  return place < options_.wait + options_.warmup ? Phase::WarmingUp : Phase::Active;
}

void TraceProfiler::on_start(const ProfileSpan& span) {
  if (output_ && phase_ != Phase::Done && span.number() == static_cast<int>(output_->step)) next_step(span);
}

void TraceProfiler::next_step(const ProfileSpan& first) {
  const Phase phase = phase_of(step_);
  const int64_t cycle = step_ / (options_.wait + options_.warmup + options_.active);
  const bool ends = phase_ == Phase::Active && (phase != Phase::Active || cycle >= cycles_ + 1);
  if (ends) write_cycle(first.outer());
  training_thread_ = number_of_thread();
  if (phase != Phase::Waiting && phase != Phase::Done && !operators_) operators_.emplace();
  if (phase == Phase::Active) {
    if (!is_active_) start_recording();
    step_began_.push_back(steady_nanoseconds());
  }
  phase_ = phase;
  step_ += 1;
}

void TraceProfiler::start_recording() {
  if (!operators_->is_recording())
    console::warn("trainer.profiler: another run of this process is traced, so this one's trace has no operators");
  operators_->take();
  is_active_ = true;
}

void TraceProfiler::on_stop(const ProfileSpan& span, int64_t began, int64_t ended) noexcept {
  if (!is_active_) return;
  try {
    TraceEvent event{.name = name_of(span.number()),
                     .category = "levin",
                     .thread = number_of_thread(),
                     .began = began,
                     .ended = ended};
    const std::lock_guard lock(mutex_);
    if (is_active_) events_.push_back(std::move(event));
  } catch (const std::exception&) {
    // Without memory for it the event is left out.
  }
}

void TraceProfiler::write_cycle(const ProfileSpan* open) {
  const int64_t ended = steady_nanoseconds();
  std::vector<TraceEvent> events;
  {
    const std::lock_guard lock(mutex_);
    is_active_ = false;
    events = std::exchange(events_, {});
  }
  for (; open != nullptr; open = open->outer())
    events.push_back({.name = name_of(open->number()),
                      .category = "levin",
                      .thread = training_thread_,
                      .began = step_began_.front(),
                      .ended = ended});
  for (OperatorEvent& event : operators_->take())
    events.push_back({.name = std::move(event.name),
                      .category = event.is_scope ? "thread" : "cpu_op",
                      .thread = event.thread,
                      .began = event.began,
                      .ended = event.ended});
  operators_.reset();
  // What began before the first step is shown from there on, and what ended before is left out.
  const int64_t began = step_began_.front();
  std::erase_if(events, [&](const TraceEvent& event) { return event.ended < began; });
  for (TraceEvent& event : events) {
    event.began = std::max(event.began, began);
    event.ended = std::min(event.ended, ended);
  }
  std::erase_if(events, [&](const TraceEvent& event) { return event.began > event.ended; });
  const int64_t first_step = step_ - static_cast<int64_t>(step_began_.size());
  for (size_t i = 0; i < step_began_.size(); ++i)
    events.push_back({.name = c10::str("ProfilerStep#", first_step + static_cast<int64_t>(i)),
                      .category = "step",
                      .thread = kSteps,
                      .began = step_began_[i],
                      .ended = i + 1 < step_began_.size() ? step_began_[i + 1] : ended});
  // An action comes before what runs inside it.
  std::ranges::stable_sort(events, [](const TraceEvent& a, const TraceEvent& b) {
    return std::tuple(a.thread, a.began, -a.ended) < std::tuple(b.thread, b.began, -b.ended);
  });
  step_began_.clear();
  cycles_ += 1;
  files_.write(c10::str("-cycle", cycles_, ".json"),
               trace_json(events, thread_names(events), output_->rank, c10::str("rank ", output_->rank)));
}

std::map<int, std::string> TraceProfiler::thread_names(const std::vector<TraceEvent>& events) const {
  std::map<int, std::string> names;
  for (const TraceEvent& event : events) {
    if (names.contains(event.thread)) continue;
    const bool is_known = event.thread == kSteps || event.thread == training_thread_;
    names[event.thread] = event.thread == kSteps ? "steps"
                          : is_known             ? "training loop"
                                                 : role_of(name_of_thread(event.thread));
  }
  return names;
}

void TraceProfiler::end() {
  if (!output_) return;
  if (phase_ == Phase::Active) write_cycle(nullptr);
  operators_.reset();
  phase_ = Phase::Done;
  if (cycles_ == 0)
    console::warn(c10::str("trainer.profiler: the run was over after ", step_,
                           " steps, before the first step that trace ", "records (wait ", options_.wait, ", warmup ",
                           options_.warmup, "); lower them"));
  else if (output_->prints)
    console::info(c10::str("trace of ", cycles_, cycles_ == 1 ? " cycle: " : " cycles, the first: ",
                           files_.path("-cycle1.json").string(), "; open it at ui.perfetto.dev"));
}

}  // namespace levin
