#pragma once
#include <filesystem>

namespace levin::data {

/// Where datasets are kept: `$LEVIN_CACHE`, or else `~/.cache/levin`.
std::filesystem::path cache_folder();

}  // namespace levin::data
