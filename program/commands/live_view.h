#pragma once
#include <levin/program/runs/run_view.h>
#include <levin/program/runs/screen.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace levin::cli {

/// Runs on a screen, followed until they end: read again as long as they run, drawn, and paused or stopped by keys.
class LiveView {
 public:
  /// What the user asks of the program.
  enum class Wish { None, Leave, Stop };

  /// `every`: the time between two looks at the runs' files, at least.
  explicit LiveView(std::chrono::milliseconds every) : every_(every) {}

  /// Adds a run. Throws as read_run does.
  void add(const std::filesystem::path& folder);
  /// Shows the last lines of a text below the curves.
  void set_output(std::vector<std::string> lines);
  /// Reads and draws what is due, waits for a key, a tenth of a second at most, and follows it. `Stop`: the user has
  /// asked to save and stop where no run could be asked.
  Wish turn(runs::Screen& screen);

  /// Asks the user whether to save and stop, as the key for it does.
  void ask_to_stop();

  const std::vector<runs::RecordedRun>& runs() const { return runs_; }
  bool have_ended() const;
  /// Returns the picture without keys, to be left in the terminal.
  std::vector<std::string> last_picture() const;

 private:
  using Clock = std::chrono::steady_clock;

  void read_if_due();
  void draw_if_changed(runs::Screen& screen);
  Wish follow(runs::Key key);
  Wish answer(runs::Key key);
  void pause_or_continue();
  bool ask(RunRequest request);
  /// Returns the numbers of the shown runs that run.
  std::vector<size_t> running() const;

  std::chrono::milliseconds every_;
  runs::RunView view_ = {};
  std::vector<runs::RecordedRun> runs_ = {};
  std::vector<std::string> output_ = {};
  std::string message_ = {};  ///< in place of the keys
  bool asks_ = false;         ///< whether to stop
  runs::ScreenSize drawn_size_ = {};
  bool has_changed_ = true;  ///< since it was drawn
  Clock::time_point next_reading_ = {};
};

/// Prints lines on standard output.
void print_lines(const std::vector<std::string>& lines);

}  // namespace levin::cli
