#pragma once
#include <levin/callbacks/progress_format.h>

#include <ostream>
#include <string>

namespace levin::progress {

/// The output of progress: stderr, or a stream. Writing never throws and never ends a run.
class Terminal {
 public:
  /// Writes to stderr: a terminal, or a file or pipe, which gets plain lines. Uses colour if NO_COLOR is unset, and box
  /// characters if the environment's locale is UTF-8.
  Terminal();
  /// Writes to `stream` as to a terminal with this many columns, without colour; with 0 columns as to a file.
  Terminal(std::ostream& stream, int64_t columns);

  /// Returns whether lines can be redrawn; otherwise there are only plain lines.
  bool is_interactive() const { return interactive_; }
  /// Returns the style with the current width.
  Style style() const;
  void write(const std::string& text) const;

 private:
  std::ostream* stream_ = nullptr;
  bool interactive_ = false;
  Style style_ = {};
};

}  // namespace levin::progress
