#pragma once
#include <levin/data/remote/remote_object.h>

#include <filesystem>

namespace levin::data {

/// Fetches an object as fetch_remote_object. `keeps_part`: a part that a cut fetch or a killed process has left at this
/// path is of this version of the object, and is continued.
void fetch_object(const RemoteObject& object, const std::filesystem::path& into, bool keeps_part);

}  // namespace levin::data
