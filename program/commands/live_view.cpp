#include <levin/program/commands/live_view.h>
#include <levin/program/runs/text_chart.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <utility>

namespace levin::cli {
namespace {

using runs::Key, runs::RecordedRun;

constexpr std::chrono::milliseconds kLiveViewTurn{100};

bool is_running(const RecordedRun& run) { return run.status == "running"; }

}  // namespace

void LiveView::set_output(std::vector<std::string> lines) {
  if (lines == output_) return;
  output_ = std::move(lines);
  has_changed_ = true;
}

void LiveView::add(const std::filesystem::path& folder) {
  runs_.push_back(runs::read_run(folder));
  has_changed_ = true;
  next_reading_ = Clock::now() + every_;
}

bool LiveView::have_ended() const { return std::ranges::none_of(runs_, is_running); }

std::vector<size_t> LiveView::running() const {
  std::vector<size_t> numbers = view_.shown(runs_);
  std::erase_if(numbers, [&](size_t i) { return !is_running(runs_[i]); });
  return numbers;
}

void LiveView::read_if_due() {
  const Clock::time_point begin = Clock::now();
  if (begin < next_reading_) return;
  for (RecordedRun& run : runs_)
    if (is_running(run)) {
      run = runs::read_run(run.folder);
      has_changed_ = true;
    }
  // A long run takes a while to read: most of the time the processor is the run's.
  next_reading_ = Clock::now() + std::max<Clock::duration>(every_, 9 * (Clock::now() - begin));
}

void LiveView::draw_if_changed(runs::Screen& screen) {
  const runs::ViewStyle style = runs::terminal_style();
  if (!has_changed_ && style.size == drawn_size_) return;
  const std::string last_line = !message_.empty()   ? message_
                                : screen.has_keys() ? runs::keys_line(style.size.columns)
                                                    : "the keys of this terminal are not this program's";
  screen.show(view_.picture(runs_, style, output_, last_line), style.size);
  drawn_size_ = style.size;
  has_changed_ = false;
}

LiveView::Wish LiveView::turn(runs::Screen& screen) {
  read_if_due();
  draw_if_changed(screen);
  const Key key = screen.wait_for_key(kLiveViewTurn);
  if (key == Key::None) return Wish::None;
  message_.clear();
  has_changed_ = true;
  return asks_ ? answer(key) : follow(key);
}

LiveView::Wish LiveView::follow(Key key) {
  switch (static_cast<int>(key)) {
    case 'q':
      return Wish::Leave;
    case 'p':
      pause_or_continue();
      return Wish::None;
    case 'k':
      ask_to_stop();
      return Wish::None;
    default:
      view_.press(key, runs_);
      return Wish::None;
  }
}

void LiveView::ask_to_stop() {
  const size_t count = running().size();
  asks_ = has_changed_ = true;
  message_ = count > 1 ? "save and stop " + std::to_string(count) + " runs? y/n" : "save and stop the run? y/n";
}

LiveView::Wish LiveView::answer(Key key) {
  asks_ = false;
  if (static_cast<int>(key) != 'y') return Wish::None;
  if (runs_.empty()) return Wish::Stop;
  if (running().empty())
    message_ = "no run that is shown runs";
  else if (ask(RunRequest::Stop))
    message_ = "it saves and stops after its step";
  return Wish::None;
}

void LiveView::pause_or_continue() {
  const std::vector<size_t> numbers = running();
  if (numbers.empty()) {
    message_ = "no run that is shown runs";
    return;
  }
  const bool all_paused = std::ranges::all_of(numbers, [&](size_t i) { return runs_[i].request == RunRequest::Pause; });
  ask(all_paused ? RunRequest::None : RunRequest::Pause);
}

bool LiveView::ask(RunRequest request) try {
  for (const size_t i : running()) {
    ask_run(runs_[i].folder, request);
    runs_[i].request = request;
  }
  return true;
} catch (const std::exception& error) {
  message_ = runs::printable(error.what());
  return false;
}

std::vector<std::string> LiveView::last_picture() const { return view_.picture(runs_, runs::terminal_style(), {}, ""); }

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::cout << line << "\n";
  std::cout.flush();
}

}  // namespace levin::cli
