#include <levin/trainer/loops/rank_agreement.h>
#include <levin/trainer/core/slurm.h>

namespace levin {
namespace {

/// Bits of what ranks ask for, behind those of signals.
constexpr uint64_t kStop = uint64_t{1} << 62, kValidate = uint64_t{1} << 63;

}  // namespace

RankAgreement::RankAgreement(RunContext& run, const ValidationSchedule& schedule) : run_(run), schedule_(schedule) {
  if (run.comm().world_size() > 1) signals_.emplace();
  const double margin = run.options.wall_margin.seconds();
  if (const std::optional<double> left = slurm_seconds_left(); left && margin > 0)
    session_end_ = run.wall_seconds() + *left - margin;
}

void RankAgreement::at_end_of_window() {
  if (run_.options.max_time && run_.counters.elapsed_seconds >= run_.options.max_time->seconds())
    run_.request_stop("max_time was reached");
  if (session_end_ && run_.counters.elapsed_seconds >= *session_end_) {
    run_.request_stop("the SLURM job's time limit is near");
    run_.session_ends = true;
  }
  // Under manual optimization no message goes with the weights of a window.
  const bool automatic = run_.module().automatic_optimization;
  const uint64_t agreed = automatic ? run_.strategy.agree(requests()) : run_.strategy.agree_now(requests());
  run_.counters.time_to_validate = agreed & kValidate;
  take(agreed);
}

void RankAgreement::now() { take(run_.strategy.agree_now(requests())); }

uint64_t RankAgreement::requests() const {
  uint64_t bits = signals_ ? held_signals() : 0;
  if (run_.stop_reason) bits |= kStop;
  if (schedule_.time_is_up(run_.counters)) bits |= kValidate;
  return bits;
}

void RankAgreement::take(uint64_t agreed) {
  if (signals_) release_signals(agreed & ~(kStop | kValidate));
  if ((agreed & kStop) == 0) return;
  run_.stop_agreed = true;
  if (!run_.stop_reason) run_.request_stop("another rank asked to stop");
}

}  // namespace levin
