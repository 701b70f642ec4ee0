#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// Makes the folder `<default_root_dir>/<name>/version_<n>` with the next free n, and those above it.
///
/// Processes that start together get different folders. Throws UsageError where the folder cannot be made, or `name`
/// leads out of default_root_dir.
std::filesystem::path create_run_folder(const std::filesystem::path& default_root_dir, const std::string& name);

/// Writes a file whole or not at all: to a temporary name beside it, synced, then renamed. Throws levin::Error naming
/// the file.
void write_text_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace levin
