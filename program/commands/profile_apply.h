#pragma once
#include <levin/program/config/config.h>
#include <levin/program/profile/profile_report.h>

#include <functional>
#include <string>
#include <vector>

namespace levin::cli {

/// What became of the advice of a profile.
struct AppliedAdvice {
  std::vector<std::string> written = {};  ///< "run.json: data.num_workers 0 -> 2"
  std::vector<std::string> left = {};     ///< what was not written, with the reason
};

/// Writes the changes of `advice` that leave learning as it is into the config files that the values come from, or into
/// the last file. Only these values, and the layout of the JSON, change. Each file is replaced atomically, and keeps
/// its old text if the new one could not be read again: `reads` is called after all files are written and throws if the
/// config is not right. Throws UsageError if a file cannot be read or written, and rethrows what `reads` throws.
AppliedAdvice apply_advice(const std::vector<ProfileAdvice>& advice, const std::vector<std::string>& files,
                           const Config& config, const std::function<void()>& reads);

}  // namespace levin::cli
