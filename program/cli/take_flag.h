#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::cli {

/// Removes `flag` and its value from `arguments` and returns the value; nullopt without the flag. For flags of a
/// command that are not options of a config. Throws UsageError if the value is missing.
std::optional<std::string> take_flag(std::vector<std::string>& arguments, const std::string& flag);

/// Returns the same for a whole number. Throws UsageError if it is less than `least`.
std::optional<int64_t> take_count(std::vector<std::string>& arguments, const std::string& flag, int64_t least);

/// Removes a flag without a value; returns whether it was there.
bool take_switch(std::vector<std::string>& arguments, const std::string& flag);

}  // namespace levin::cli
