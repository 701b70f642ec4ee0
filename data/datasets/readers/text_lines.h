#pragma once
#include <levin/data/datasets/readers/line_file.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

/// The lines of several text files in sequence.
class TextLines {
 public:
  /// Throws levin::UsageError as LineFile does.
  explicit TextLines(const std::vector<std::string>& files);

  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  std::string_view line(int64_t index) const;
  /// Returns "file: line n".
  std::string place(int64_t index) const;

 private:
  struct Place {
    const LineFile& file;
    int64_t line;
  };
  Place find(int64_t index) const;

  std::deque<LineFile> files_ = {};
  std::vector<int64_t> ends_ = {};  // lines of the files up to and with each
};

/// Returns whether a line belongs to a share of all lines that is held out, from 0 to 1. That depends on the line's
/// bytes alone, so it stays so when lines are added, and equal lines go together.
bool is_held_out(std::string_view line, double share);

}  // namespace levin::data
