#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace levin {

/// Returns N for a folder version_<N>; nullopt for other names.
std::optional<int64_t> version_of(const std::filesystem::path& folder);
/// Returns the folder version_<N> in `parent`.
std::filesystem::path folder_of_version(const std::filesystem::path& parent, int64_t version);

/// Removes the temporary files that a killed process has left in the folder of a run and in its checkpoints folder.
/// Links to such folders are not followed. `keeps_links`: as for `remove_leftovers`.
void remove_leftovers_of_run(const std::filesystem::path& run_folder, bool keeps_links = true);

}  // namespace levin
