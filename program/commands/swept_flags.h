#pragma once
#include <levin/core/options/option.h>
#include <levin/program/sweep/proposals.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace levin::cli {

/// The arguments of a fit, some of which give several values.
struct SweptFlags {
  std::vector<std::string> arguments = {};
  std::vector<sweep::Parameter> parameters = {};
  std::map<std::string, std::string> texts = {};  ///< of the parameters, as typed
  std::vector<size_t> places = {};                ///< of each parameter in `arguments`

  /// Returns the arguments with these values.
  std::vector<std::string> with(const sweep::Assignment& values) const;
};

/// Finds the flags that give several values: 1e-4,1e-3 for an option that takes one, 1e-4:1e-1:log for one that takes a
/// number, and 32,32|64,64 for one that takes a list. What is a value of the option as a whole is left as it is, and so
/// are flags of options that do not exist. Throws UsageError for config files that cannot be read, and as Parameter
/// does.
SweptFlags find_swept_flags(const Schema& schema, std::vector<std::string> arguments);

}  // namespace levin::cli
