#include <levin/program/runs/screen.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/core/system/signals.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

namespace levin::runs {
namespace {

constexpr std::string_view kEnterScreen = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
constexpr std::string_view kLeaveScreen = "\x1b[0m\x1b[?25h\x1b[?1049l";

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr std::array kScreenSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// What a signal handler needs to restore the terminal; there is one.
std::atomic<bool> is_taken{false};
std::atomic<bool> changes_input{false};
std::atomic<int> stop_signal{0};
termios input_before{};
std::array<struct sigaction, kScreenSignals.size()> handlers_before_screen{};

/// Restores the terminal; safe in a signal handler.
void restore_terminal() {
  if (!is_taken.exchange(false)) return;
  if (changes_input.exchange(false)) ::tcsetattr(STDIN_FILENO, TCSANOW, &input_before);
  write_all(STDOUT_FILENO, kLeaveScreen.data(), kLeaveScreen.size());  // a terminal that is gone needs nothing
}

void on_screen_signal(int number) {
  const int error = errno;
  int none = 0;
  const bool is_stop = std::ranges::find(kStopSignals, number) != kStopSignals.end();
  if (is_stop && stop_signal.compare_exchange_strong(none, number)) {
    errno = error;
    return;
  }
  restore_terminal();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

/// Lets keys come one by one and without being shown. Returns whether this process may read the terminal: one in the
/// background would be stopped.
bool take_input() {
  if (::isatty(STDIN_FILENO) != 1 || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return false;
  if (::tcgetattr(STDIN_FILENO, &input_before) != 0) return false;
  termios changed = input_before;
  changed.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  changed.c_iflag &= ~static_cast<tcflag_t>(ICRNL);
  changed.c_cc[VMIN] = 1;
  changed.c_cc[VTIME] = 0;
  changed.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped process could not restore the terminal
  changes_input = true;
  return ::tcsetattr(STDIN_FILENO, TCSANOW, &changed) == 0;
}

/// Returns how many bytes of `bytes` a control sequence of the terminal has; 0 if it is not whole.
size_t sequence_size(std::string_view bytes) {
  constexpr std::string_view kBegin = "\x1b[";
  if (bytes.size() < kBegin.size() || (bytes[1] != '[' && bytes[1] != 'O')) return 0;
  size_t size = kBegin.size();
  while (size < bytes.size() && (bytes[size] < '@' || bytes[size] > '~')) ++size;
  return size < bytes.size() ? size + 1 : 0;
}

}  // namespace

ScreenSize screen_size() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {.columns = std::max<size_t>(size.ws_col, 20), .lines = std::max<size_t>(size.ws_row, 5)};
}

Key take_key(std::string& bytes, bool is_all) {
  if (bytes.empty()) return Key::None;
  if (bytes.front() != '\x1b') {
    const auto letter = static_cast<unsigned char>(bytes.front());
    bytes.erase(0, 1);
    if (letter == '\n') return Key::Enter;
    return letter == 0 || letter >= 0x80 ? Key::Other : static_cast<Key>(letter);
  }
  const bool may_be_longer = bytes.size() == 1 || bytes[1] == '[' || bytes[1] == 'O';
  const size_t size = sequence_size(bytes);
  if (size == 0 && may_be_longer && !is_all) return Key::None;
  if (size == 0) {
    bytes.erase(0, 1);
    return Key::Escape;
  }
  const char last = bytes[size - 1];
  bytes.erase(0, size);
  switch (last) {
    case 'A':
      return Key::Up;
    case 'B':
      return Key::Down;
    case 'C':
      return Key::Right;
    case 'D':
      return Key::Left;
    default:
      return Key::Other;
  }
}

Screen::Screen() {
  if (is_taken.exchange(true)) throw Error("the terminal is taken by another screen");
  stop_signal = 0;
  has_keys_ = take_input();
  struct sigaction handler = {};
  handler.sa_handler = on_screen_signal;
  sigemptyset(&handler.sa_mask);
  for (size_t i = 0; i < kScreenSignals.size(); ++i) {
    ::sigaction(kScreenSignals[i], nullptr, &handlers_before_screen[i]);
    if (!is_ignored(kScreenSignals[i])) ::sigaction(kScreenSignals[i], &handler, nullptr);
  }
  write_all(STDOUT_FILENO, kEnterScreen.data(), kEnterScreen.size());
}

Screen::~Screen() {
  restore_terminal();
  for (size_t i = 0; i < kScreenSignals.size(); ++i)
    ::sigaction(kScreenSignals[i], &handlers_before_screen[i], nullptr);
}

void Screen::show(const std::vector<std::string>& lines, ScreenSize size) {
  std::string text = "\x1b[H";
  for (size_t i = 0; i < std::min(lines.size(), size.lines); ++i) text += (i == 0 ? "" : "\r\n") + lines[i] + "\x1b[K";
  text += "\x1b[J";
  write_all(STDOUT_FILENO, text.data(), text.size());  // a terminal that is gone sends SIGHUP
}

Key Screen::wait_for_key(std::chrono::milliseconds patience) {
  if (const Key key = take_key(unread_, /*is_all=*/false); key != Key::None) return key;
  // Without keys it waits alone.
  pollfd input{.fd = has_keys_ && !is_input_over_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&input, 1, static_cast<int>(patience.count()));
  if (ready < 0) return Key::None;  // a signal
  if (ready == 0) return take_key(unread_, /*is_all=*/true);
  std::array<char, 64> bytes = {};
  const ssize_t size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (size > 0)
    unread_.append(bytes.data(), static_cast<size_t>(size));
  else if (size == 0 || errno != EINTR)
    is_input_over_ = true;
  return take_key(unread_, /*is_all=*/false);
}

int Screen::ended_by() { return stop_signal; }

void Screen::forget_signal() { stop_signal = 0; }

}  // namespace levin::runs
