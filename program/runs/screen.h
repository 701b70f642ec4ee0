#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace levin::runs {

/// A key of the keyboard: the letter itself, or one of these. A key without a letter that is none of them is Other.
enum class Key : int {
  None = 0,
  Enter = '\r',
  Escape = 0x1B,
  Up = 0x100,
  Down,
  Left,
  Right,
  Other,
};

struct ScreenSize {
  size_t columns = 80, lines = 24;
  bool operator==(const ScreenSize&) const = default;
};

/// Returns the size of the terminal at standard output, at least 20 columns and 5 lines; 80 by 24 if it tells none.
ScreenSize screen_size();

/// Takes the first key from bytes that a terminal has sent; None if there is no whole one. With `is_all` nothing
/// follows them: what would begin a longer key is then what it is alone.
Key take_key(std::string& bytes, bool is_all);

/// The whole terminal at standard output while it lives: a second screen without a cursor, which leaves what stood
/// before, and keys that need no Enter, if this process may read the terminal. One at a time.
///
/// The terminal is restored by the destructor, and before a signal ends the process: SIGINT, SIGTERM and SIGHUP are
/// recorded the first time (`ended_by`), and end the process the second time; SIGQUIT and errors (SIGSEGV, SIGABRT,
/// ...) end it at once.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool has_keys() const { return has_keys_; }
  /// Draws lines over what stood there; those that do not fit on the screen are left out.
  void show(const std::vector<std::string>& lines, ScreenSize size);
  /// Waits for a key, at most for `patience`; None if there was none, or a signal has come.
  Key wait_for_key(std::chrono::milliseconds patience);
  /// Returns the signal that asks to end; 0 without one.
  static int ended_by();
  /// Forgets it, so that the next one counts as the first.
  static void forget_signal();

 private:
  bool has_keys_ = false;
  bool is_input_over_ = false;
  std::string unread_ = {};
};

}  // namespace levin::runs
