#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::cli {

/// The value of `flag`, which is taken out of `arguments` with it; nothing where it is not there. For the flags that a
/// command has beside those of a config. Throws UsageError where the value is missing.
std::optional<std::string> take_flag(std::vector<std::string>& arguments, const std::string& flag);

/// The same for a whole number; throws UsageError where it is less than `least`.
std::optional<int64_t> take_count(std::vector<std::string>& arguments, const std::string& flag, int64_t least);

}  // namespace levin::cli
