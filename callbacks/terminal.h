#pragma once
#include <levin/callbacks/progress_format.h>

#include <ostream>
#include <string>

namespace levin::progress {

/// Where progress is shown: stderr, or a stream. Writing never throws and never ends a run.
class Terminal {
 public:
  /// stderr: a terminal, or a file or pipe that takes plain lines. Colour where NO_COLOR is unset, box characters where
  /// the locale of the environment is UTF-8.
  Terminal();
  /// `stream`, as a terminal of so many columns, without colour; with 0 columns as a file.
  Terminal(std::ostream& stream, int64_t columns);

  /// Whether lines can be drawn again; otherwise there are plain lines only.
  bool is_interactive() const { return interactive_; }
  /// With the width of this moment.
  Style style() const;
  void write(const std::string& text) const;

 private:
  std::ostream* stream_ = nullptr;
  bool interactive_ = false;
  Style style_ = {};
};

}  // namespace levin::progress
