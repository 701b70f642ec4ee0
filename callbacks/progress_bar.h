#pragma once
#include <levin/callbacks/callback.h>
#include <levin/callbacks/terminal.h>
#include <levin/core/options/option.h>

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

namespace levin {

/// The options of ProgressBar.
struct ProgressBarOptions {
  double refresh_seconds = LEVIN_OPTION(refresh_seconds, 0.1, "Time between two drawings in a terminal", {.min = 0});
  double plain_seconds = LEVIN_OPTION(plain_seconds, 10, "Time between two lines in a file or pipe", {.min = 0});
  /// The stream to write to; null means stderr.
  std::ostream* stream = nullptr;
  /// Only with a stream: draw as in a terminal with this many columns; 0 means plain lines.
  int64_t stream_columns = 0;
};

/// Shows the progress of the run. In a terminal it redraws one line, and leaves one line per epoch; in a file or pipe
/// it writes one line per epoch, and one every 10 s within. Only rank 0 shows it.
///
///     Epoch 3/5  ━━━━━━━━━━━━───────  62%  155/250  1.2k it/s  0:04 left  train_loss 0.123  val_acc 0.951
///
/// It shows the values that are logged with prog_bar. In training, a run of one process shows a step's newest value if
/// that is already in main memory; the bar shows all other values as they were last read, at a log point or at the end
/// of an epoch. A batch costs one reading of the clock.
class ProgressBar final : public Callback {
 public:
  using Options = ProgressBarOptions;
  ProgressBar() : ProgressBar(Options{}) {}
  explicit ProgressBar(Options options);

  void setup(Run& run) override;
  void teardown(Run& run) override;
  void on_exception(Run& run, const std::exception& error) override;

  void on_fit_start(Run& run) override;
  void on_sanity_check_start(Run& run) override;
  void on_sanity_check_end(Run& run) override;
  void on_train_start(Run& run) override;
  void on_train_epoch_start(Run& run) override;
  void on_train_batch_end(Run& run) override;
  void on_train_epoch_end(Run& run) override;
  void on_train_end(Run& run) override;

  void on_validation_start(Run& run) override;
  void on_validation_batch_end(Run& run) override;
  void on_validation_end(Run& run) override;
  void on_test_start(Run& run) override;
  void on_test_batch_end(Run& run) override;
  void on_test_end(Run& run) override;
  void on_predict_start(Run& run) override;
  void on_predict_batch_end(Run& run) override;
  void on_predict_end(Run& run) override;

 private:
  using Clock = std::chrono::steady_clock;

  /// A progress line with the clock of its batches. In the rate the latest seconds weigh most; paused time does not
  /// count.
  struct Progress {
    progress::Line line = {};
    Clock::time_point started = {}, measured = {};
    int64_t measured_batches = 0;
    double recent_batches = 0, recent_seconds = 0;
    double all_batches = 0, all_seconds = 0;

    void start(std::string label, Clock::time_point now);
    void measure(Clock::time_point now);
    void finish(Clock::time_point now);
  };

  void start_epoch(Run& run);
  void start_evaluation(std::string label);
  void evaluation_batch_end(Run& run);
  void end_evaluation(Run& run);
  void draw_if_due(Run& run, Progress& progress);
  void draw(Run& run, Progress& progress);
  void leave_epoch_line(Run& run);
  void leave(Run& run, Progress& progress);
  void erase();
  /// Ends the current line, so that the next text starts a new one.
  void end_line();
  Clock::duration interval() const;

  Options options_;
  progress::Terminal terminal_;
  bool enabled_ = true;
  bool in_fit_ = false, in_sanity_check_ = false;
  bool epoch_is_over_ = false;  ///< the epoch's final line has not been written yet
  bool line_is_open_ = false;   ///< something is drawn on the terminal's current line
  Progress epoch_ = {}, evaluation_ = {};
  int64_t dataloader_idx_ = 0;
  int64_t batches_of_earlier_loaders_ = 0;
  Clock::time_point next_drawing_ = {};
};

}  // namespace levin
