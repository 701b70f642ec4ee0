#pragma once
#include <levin/core/run/profiler.h>
#include <levin/trainer/profilers/profiler_options.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// The files of one profiler in one run: fit-simple.txt, and fit-simple-rank1.txt of another rank. A run that is
/// resumed in its folder adds a number, fit-simple-2.txt, so that no file of an earlier session is overwritten.
class ProfileFiles {
 public:
  /// No files.
  ProfileFiles() = default;
  /// `profiler`: its name. `extension`: that of a file which each session writes; with the dot.
  ProfileFiles(const ProfilerFileOptions& options, const Profiler::Output& output, const std::string& profiler,
               std::string_view extension);

  /// Returns false if the run has no folder and no `dirpath` is given.
  explicit operator bool() const { return !beginning_.empty(); }
  /// Returns the path of a file: `ending` is ".txt", or "-cycle1.json".
  std::filesystem::path path(std::string_view ending) const;
  /// Writes a file whole or not at all. A failure is a warning, since a profile is not worth a run, and no file is
  /// written after it.
  void write(std::string_view ending, std::string_view text);

 private:
  std::filesystem::path folder_ = {};
  std::string beginning_ = {};
};

}  // namespace levin
