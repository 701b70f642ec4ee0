#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace levin {

/// Writes a copy of a checkpoint to a folder of a bucket: first the parts of the save `save` that lie beside it, then
/// the file that makes it a checkpoint. Parts of other saves of this name are removed there afterwards. Throws as
/// upload_file.
void upload_checkpoint(const std::filesystem::path& file, const std::string& folder, const std::string& save);

/// Returns the names under which a checkpoint lies: its file, then its parts.
std::vector<std::string> names_of_checkpoint(const std::filesystem::path& file);

/// Removes objects of a folder, in this order. What cannot be removed stays, with a warning.
void remove_uploaded(const std::string& folder, const std::vector<std::string>& names);

}  // namespace levin
