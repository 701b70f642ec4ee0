#pragma once
#include <filesystem>

namespace levin::data {

/// Returns the folder in which datasets are kept: `$LEVIN_CACHE`, or else `~/.cache/levin`.
std::filesystem::path cache_folder();

}  // namespace levin::data
