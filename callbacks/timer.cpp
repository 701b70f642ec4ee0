#include <levin/callbacks/timer.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <utility>

namespace levin {

Timer::Timer(TimerOptions options) : options_(std::move(options)) { schema_of<Options>().check(&options_, "Timer"); }

void Timer::on_train_start(Run& run) {
  begin(Stage::Fit);
  check(run);
}
void Timer::on_train_end(Run&) { end(Stage::Fit); }
void Timer::on_validation_start(Run&) { begin(Stage::Validate); }
void Timer::on_validation_end(Run&) { end(Stage::Validate); }
void Timer::on_test_start(Run&) { begin(Stage::Test); }
void Timer::on_test_end(Run&) { end(Stage::Test); }

void Timer::on_train_batch_end(Run& run) {
  if (options_.interval == Interval::Step) check(run);
}

void Timer::on_train_epoch_end(Run& run) {
  if (options_.interval == Interval::Epoch) check(run);
}

void Timer::end(Stage stage) {
  const double elapsed = time_elapsed(stage);
  watch(stage) = {.before = elapsed};
}

double Timer::time_elapsed(Stage stage) const {
  const Watch& watch = watches_[static_cast<size_t>(stage)];
  if (!watch.begun) return watch.before;
  return watch.before + std::chrono::duration<double>(Clock::now() - *watch.begun).count();
}

std::optional<double> Timer::time_remaining() const {
  if (!options_.duration) return {};
  return std::max(0.0, options_.duration->seconds() - time_elapsed());
}

void Timer::check(Run& run) {
  if (!options_.duration || time_elapsed() < options_.duration->seconds()) return;
  const std::string reason = "Timer: " + options_.duration->to_text() + " of training are over";
  if (options_.verbose) console::info(reason);
  options_.verbose = false;  // report once
  run.request_stop(reason);
}

State Timer::state_dict() const {
  State elapsed = State::dict();
  for (const Stage stage : {Stage::Fit, Stage::Validate, Stage::Test}) elapsed[to_string(stage)] = time_elapsed(stage);
  return State::dict({{"time_elapsed", std::move(elapsed)}});
}

void Timer::load_state_dict(const State& state) {
  const State& elapsed = state.at("time_elapsed");
  for (const Stage stage : {Stage::Fit, Stage::Validate, Stage::Test})
    watch(stage).before = elapsed.at(to_string(stage)).to_double();
}

}  // namespace levin
