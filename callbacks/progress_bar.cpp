#include <levin/callbacks/progress_bar.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace levin {
namespace {

constexpr double kRateMemorySeconds = 3;
// If the terminal has become narrower, the line is cut, not wrapped.
constexpr const char *kLineStart = "\x1b[?7l\r", *kLineEnd = "\x1b[K\x1b[?7h";

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

progress::Terminal terminal_of(const ProgressBarOptions& options) {
  return options.stream ? progress::Terminal(*options.stream, options.stream_columns) : progress::Terminal();
}

}  // namespace

void ProgressBar::Progress::start(std::string label, Clock::time_point now) {
  *this = {};
  line.label = std::move(label);
  started = measured = now;
}

void ProgressBar::Progress::measure(Clock::time_point now) {
  const double seconds = seconds_between(measured, now);
  const auto batches = static_cast<double>(line.done - measured_batches);
  if (batches > 0) {
    const double kept = std::exp(-seconds / kRateMemorySeconds);
    recent_batches = kept * recent_batches + batches;
    recent_seconds = kept * recent_seconds + seconds;
    all_batches += batches;
    all_seconds += seconds;
    measured = now;
    measured_batches = line.done;
  }
  line.seconds = seconds_between(started, now);
  if (recent_seconds > 0) line.batches_per_second = recent_batches / recent_seconds;
}

void ProgressBar::Progress::finish(Clock::time_point now) {
  measure(now);
  line.finished = true;
  if (all_seconds > 0) line.batches_per_second = all_batches / all_seconds;
}

ProgressBar::ProgressBar(Options options) : options_(options), terminal_(terminal_of(options)) {}

void ProgressBar::setup(Run& run) {
  enabled_ = run.comm().is_global_zero();
  in_fit_ = in_sanity_check_ = epoch_is_over_ = line_is_open_ = false;
  next_drawing_ = Clock::now() + interval();
}

void ProgressBar::teardown(Run& run) {
  leave_epoch_line(run);
  end_line();
  in_fit_ = false;
}

void ProgressBar::on_exception(Run&, const std::exception&) {
  end_line();
  epoch_is_over_ = false;
}

void ProgressBar::on_fit_start(Run&) { in_fit_ = true; }

void ProgressBar::on_sanity_check_start(Run&) { in_sanity_check_ = true; }

void ProgressBar::on_sanity_check_end(Run&) {
  in_sanity_check_ = false;
  erase();
}

/// An epoch in which the run was resumed does not call on_train_epoch_start again.
void ProgressBar::on_train_start(Run& run) {
  if (enabled_ && run.state().batch_in_epoch > 0) start_epoch(run);
}

void ProgressBar::on_train_epoch_start(Run& run) {
  if (!enabled_) return;
  leave_epoch_line(run);
  start_epoch(run);
}

void ProgressBar::start_epoch(Run& run) {
  const std::optional<int64_t> epochs = run.max_epochs();
  const Clock::time_point now = Clock::now();
  epoch_.start("Epoch " + std::to_string(run.state().epoch + 1) + (epochs ? "/" + std::to_string(*epochs) : ""), now);
  epoch_.line.done = epoch_.measured_batches = run.state().batch_in_epoch;
  epoch_.line.total = run.num_batches();
  next_drawing_ = now + interval();
  if (terminal_.is_interactive()) draw(run, epoch_);
}

void ProgressBar::on_train_batch_end(Run& run) {
  if (!enabled_) return;
  epoch_.line.done = run.batch_idx() + 1;
  draw_if_due(run, epoch_);
}

/// The final line is written at the next hook: the module's own hook may still log, and the epoch's values are reduced
/// after it.
void ProgressBar::on_train_epoch_end(Run& run) {
  if (!enabled_) return;
  epoch_.finish(Clock::now());
  epoch_is_over_ = true;
  if (terminal_.is_interactive()) draw(run, epoch_);
}

/// A run that ends during a validation leaves its epoch's line as it is.
void ProgressBar::on_train_end(Run& run) {
  leave_epoch_line(run);
  end_line();
}

void ProgressBar::on_validation_start(Run&) { start_evaluation(in_sanity_check_ ? "Sanity check" : "Validation"); }
void ProgressBar::on_validation_batch_end(Run& run) { evaluation_batch_end(run); }
void ProgressBar::on_validation_end(Run& run) { end_evaluation(run); }
void ProgressBar::on_test_start(Run&) { start_evaluation("Test"); }
void ProgressBar::on_test_batch_end(Run& run) { evaluation_batch_end(run); }
void ProgressBar::on_test_end(Run& run) { end_evaluation(run); }
void ProgressBar::on_predict_start(Run&) { start_evaluation("Predict"); }
void ProgressBar::on_predict_batch_end(Run& run) { evaluation_batch_end(run); }
void ProgressBar::on_predict_end(Run& run) { end_evaluation(run); }

void ProgressBar::start_evaluation(std::string label) {
  if (!enabled_) return;
  const Clock::time_point now = Clock::now();
  if (in_fit_ && !in_sanity_check_) epoch_.measure(now);
  if (!in_fit_) next_drawing_ = now + interval();
  evaluation_.start(std::move(label), now);
  dataloader_idx_ = batches_of_earlier_loaders_ = 0;
}

void ProgressBar::evaluation_batch_end(Run& run) {
  if (!enabled_) return;
  if (run.dataloader_idx() != dataloader_idx_) {
    dataloader_idx_ = run.dataloader_idx();
    batches_of_earlier_loaders_ = evaluation_.line.done;
  }
  evaluation_.line.done = batches_of_earlier_loaders_ + run.batch_idx() + 1;
  evaluation_.line.total = run.num_batches();
  if (evaluation_.line.total) *evaluation_.line.total += batches_of_earlier_loaders_;
  draw_if_due(run, evaluation_);
}

void ProgressBar::end_evaluation(Run& run) {
  if (!enabled_) return;
  const Clock::time_point now = Clock::now();
  if (!in_fit_) {
    evaluation_.finish(now);
    evaluation_.line.total = evaluation_.line.done;
    leave(run, evaluation_);
  } else if (!in_sanity_check_) {
    epoch_.measured = now;
    if (terminal_.is_interactive()) draw(run, epoch_);
  }
}

void ProgressBar::draw_if_due(Run& run, Progress& progress) {
  const Clock::time_point now = Clock::now();
  if (now < next_drawing_) return;
  progress.measure(now);
  draw(run, progress);
}

void ProgressBar::draw(Run& run, Progress& progress) {
  next_drawing_ = Clock::now() + interval();
  // During an evaluation within fit, the available values are those of the previous evaluation, so none are shown.
  progress.line.metrics = &progress == &evaluation_ && in_fit_ ? Metrics() : run.progress_bar_metrics();
  if (terminal_.is_interactive()) {
    terminal_.write(kLineStart + progress::format_bar(progress.line, terminal_.style()) + kLineEnd);
    line_is_open_ = true;
  } else {
    terminal_.write(progress::format_plain(progress.line) + "\n");
  }
}

void ProgressBar::leave(Run& run, Progress& progress) {
  draw(run, progress);
  end_line();
}

void ProgressBar::end_line() {
  if (line_is_open_) terminal_.write("\n");
  line_is_open_ = false;
}

void ProgressBar::leave_epoch_line(Run& run) {
  if (!epoch_is_over_) return;
  epoch_is_over_ = false;
  leave(run, epoch_);
}

void ProgressBar::erase() {
  if (line_is_open_) terminal_.write("\r\x1b[K");
  line_is_open_ = false;
}

std::chrono::steady_clock::duration ProgressBar::interval() const {
  const double seconds = terminal_.is_interactive() ? options_.refresh_seconds : options_.plain_seconds;
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e6)));
}

}  // namespace levin
