#pragma once
#include <levin/trainer/core/metrics.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// A text file that grows by lines, each written by one write(2): a killed process leaves all of them.
/// Errors of the system throw levin::Error that names the file.
class RowFile {
 public:
  /// Opens or creates the file; the end of a line that a full disk or a power failure cut off is removed.
  explicit RowFile(std::filesystem::path path);
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string read() const;
  /// `line` ends with a newline. Throws also where the file was removed meanwhile.
  void append(std::string_view line);
  /// Another content, all or nothing: a killed process leaves the old or the new one.
  void replace(std::string_view text);
  /// Waits until the disk has everything.
  void sync();

 private:
  void open();
  void close();

  std::filesystem::path path_;
  int fd_ = -1;
};

/// The first `count` lines of `text`.
std::string_view first_lines(std::string_view text, int64_t count);

/// The shortest text that reads back as `value`; `nan`, `inf`, `-inf`.
std::string number_text(double value);

/// Throws UsageError where a metric is named like a column of every row (`step`, `epoch`, `wall_seconds`).
void check_metric_names(const Metrics& values);

}  // namespace levin
