#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace levin::cli {

/// Loads a shared library that registers classes. Its file is read first: throws levin::UsageError, before any of the
/// library's code runs, if it is no plugin or was built with another levin, LibTorch or compiler; and if it cannot be
/// loaded. The library stays loaded.
void load_plugin(const std::filesystem::path& path);

/// Returns the flags with which this process loaded its plugins: {"--plugin", "./libmine.so"}.
const std::vector<std::string>& plugin_flags();

}  // namespace levin::cli
