#pragma once
#include <levin/core/run/profiler.h>
#include <levin/trainer/profilers/profile_files.h>
#include <levin/trainer/profilers/profiler_options.h>

#include <optional>
#include <string>

namespace levin {

/// Shows the time of each action as a table at the end of the run, the longest first, and writes it into the run's
/// folder as text and JSON. Times are the host's: work on a GPU goes on beside it, and is waited for where a value is
/// read.
/// Source: lightning.pytorch.profilers.SimpleProfiler
class SimpleProfiler final : public Profiler {
 public:
  using Options = SimpleProfilerOptions;

  explicit SimpleProfiler(const Parts& parts, Options options = {}) : Profiler(parts), options_(std::move(options)) {}
  void begin(const Output& output) override;

 protected:
  void end() override;

 private:
  Options options_;
  std::optional<Output> output_ = {};  ///< unset if the run ended before it began
  ProfileFiles files_ = {};
};

/// Returns the table of a profile. `extended`: with numbers of calls, times outside of inner actions, and shares.
std::string profile_table(const ProfileTotals& totals, bool extended = true);
/// Returns the profile as a JSON object; docs/profilers.md describes it.
std::string profile_json(const ProfileTotals& totals, const Profiler::Output& output);

}  // namespace levin
