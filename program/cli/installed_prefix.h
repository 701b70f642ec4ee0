#pragma once
#include <filesystem>

namespace levin::cli {

/// Returns the folder in which the program's levin is installed, with its CMake package, for CMAKE_PREFIX_PATH; empty
/// where the program runs from a build folder.
std::filesystem::path installed_prefix();

/// The same; throws UsageError where it is empty.
std::filesystem::path require_installed_prefix();

}  // namespace levin::cli
