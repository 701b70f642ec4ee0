#pragma once
#include <cstdint>
#include <filesystem>

namespace levin::data {

/// Unpacks a tar file, plain or gzip, to the new folder `folder`, which appears whole or not at all.
///
/// `strip_components` leaves out so many folders in front of each name, as tar does; files that are not so deep are
/// left out. Throws levin::UsageError that names the archive: broken, cut off, a name that leads out of the folder
/// (absolute or with ".."), links; and levin::Error where it cannot be written. What stood at `folder` is replaced.
void unpack_archive(const std::filesystem::path& archive, const std::filesystem::path& folder,
                    int64_t strip_components = 0);

}  // namespace levin::data
