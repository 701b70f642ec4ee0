#include <levin/trainer/loops/rank_agreement.h>
#include <levin/core/system/slurm.h>

#include <algorithm>
#include <bit>
#include <thread>

namespace levin {
namespace {

/// Bits of the requests; the low 32 bits are the signals.
constexpr uint64_t kSignals = (uint64_t{1} << 32) - 1;
constexpr uint64_t kPause = uint64_t{1} << 33;
constexpr uint64_t kSave = uint64_t{1} << 61, kStop = uint64_t{1} << 62, kValidate = uint64_t{1} << 63;
/// An interval is a power of two; this bit stands for 1.
constexpr int kInterval = 40, kLongestInterval = 20;
constexpr double kSecondsBetweenQuestions = 0.1;
constexpr std::chrono::milliseconds kLookInPause{100};

}  // namespace

RankAgreement::RankAgreement(RunContext& run, const ValidationSchedule& schedule)
    : run_(run),
      parts_(run.parts),
      schedule_(schedule),
      asked_(run.parts.is_rank_zero() ? run.state.folder.path() : std::filesystem::path()) {
  if (run.comm().processes() > 1) signals_.emplace();
  const double margin = run.parts.options->wall_margin.seconds();
  if (const std::optional<double> left = slurm_seconds_left(); left && margin > 0)
    session_end_ = run.state.clock.seconds() + *left - margin;
}

void RankAgreement::at_end_of_window() {
  if (parts_.options->max_time && run_.state.counters.elapsed_seconds >= parts_.options->max_time->seconds())
    run_.view.request_stop("max_time was reached");
  end_before_time_limit();
  // Under manual optimization there is no message with the weights of a window.
  const bool automatic = run_.module().automatic_optimization;
  RankSync& sync = parts_.strategy.rank_sync();
  const uint64_t agreed = automatic ? sync.agree(requests()) : sync.agree_now(requests());
  run_.state.counters.time_to_validate = agreed & kValidate;
  take(agreed);
}

void RankAgreement::end_before_time_limit() {
  if (session_end_ && run_.state.clock.seconds() >= *session_end_)
    run_.state.stops.request_end_of_session("the SLURM job's time limit is near");
}

void RankAgreement::wait_while_paused() {
  if (!pauses_) return;
  const bool tells = parts_.is_rank_zero() && !run_.state.folder.empty();
  if (tells) mark_paused(run_.state.folder.path(), true);
  RunClock& clock = run_.state.clock;
  const double begin = clock.seconds();
  while (pauses_ && !run_.state.stops.are_agreed() && received_signal() == 0) {
    std::this_thread::sleep_for(kLookInPause);
    end_before_time_limit();
    now();
  }
  const double paused = clock.seconds() - begin;
  clock.continue_from(begin);
  if (session_end_) *session_end_ -= paused;
  if (tells) mark_paused(run_.state.folder.path(), false);
}

void RankAgreement::now() { take(parts_.strategy.rank_sync().agree_now(requests())); }

uint64_t RankAgreement::requests() {
  uint64_t bits = signals_ ? held_signals() & kSignals : 0;
  if (run_.state.stops.reason()) bits |= kStop;
  if (schedule_.time_is_up(run_.state.counters)) bits |= kValidate;
  if (run_.saves.asks_all_ranks()) bits |= kSave;
  if (asked_.now() == RunRequest::Pause) bits |= kPause;
  return bits;
}

void RankAgreement::take(uint64_t agreed) {
  if (signals_) release_signals(agreed & kSignals);
  if (agreed & kSave) run_.saves.take_asked();
  pauses_ = (agreed & kPause) != 0;
  if ((agreed & kStop) == 0) return;
  run_.state.stops.agree();
  if (!run_.state.stops.reason()) run_.view.request_stop("another rank asked to stop");
}

bool RankAgreement::ends_here() const { return received_signal() != 0 && run_.state.counters.window.position == 0; }

int64_t RankAgreement::in_validation(int64_t interval) {
  uint64_t bits = requests();
  if (parts_.is_rank_zero()) bits |= uint64_t{1} << (kInterval + std::countr_zero(static_cast<uint64_t>(interval)));
  const uint64_t agreed = parts_.strategy.rank_sync().agree_now(bits);
  take(agreed);
  return static_cast<int64_t>((agreed >> kInterval) & ((uint64_t{2} << kLongestInterval) - 1));
}

bool ValidationAgreement::goes_on() {
  batches_ += 1;
  if (batches_ < interval_) return true;
  const std::chrono::duration<double> since = Clock::now() - asked_;
  const double batches = static_cast<double>(batches_) * kSecondsBetweenQuestions / std::max(since.count(), 1e-6);
  const auto interval = static_cast<uint64_t>(std::clamp(batches, 1.0, static_cast<double>(1 << kLongestInterval)));
  interval_ = ranks_.in_validation(static_cast<int64_t>(std::bit_floor(interval)));
  batches_ = 0;
  asked_ = Clock::now();
  return !ranks_.ends_here();
}

}  // namespace levin
