#pragma once
#include <levin/core/run/metrics.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// A text file to which lines are appended, each by one write(2), so that a killed process keeps all lines. System
/// errors throw a levin::Error that names the file.
class RowFile {
 public:
  /// Opens or creates the file; a link, which may lead out of the run's folder, is an error. Removes an incomplete last
  /// line, left by a full disk or a power failure.
  explicit RowFile(std::filesystem::path path);
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string read() const;
  /// Appends `line`, which must end with a newline; nothing of it if the disk is full. Also throws if the file has been
  /// removed.
  void append(std::string_view line);
  /// Replaces the content atomically: a killed process leaves the old or the new content.
  void replace(std::string_view text);
  /// Waits until everything is on the disk (fsync).
  void sync();

 private:
  void open();
  void close();

  std::filesystem::path path_;
  int fd_ = -1;
};

/// Returns the first `count` lines of `text`.
std::string_view first_lines(std::string_view text, int64_t count);

/// Returns the shortest text that reads back as `value`; `nan`, `inf`, `-inf`.
std::string number_text(double value);

/// Throws UsageError if a metric has the name of a fixed column (`step`, `epoch`, `wall_seconds`).
void check_metric_names(const Metrics& values);

}  // namespace levin
