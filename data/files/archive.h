#pragma once
#include <cstdint>
#include <filesystem>

namespace levin::data {

/// Unpacks a tar file, plain or gzip, to the folder `folder`, which appears whole or not at all. An existing `folder`
/// is replaced.
///
/// `strip_components` removes that many leading folders from each name, as tar does; files that are not as deep are
/// skipped. Throws levin::UsageError that names the archive if it is broken, truncated, has a link, or has a name that
/// leads out of the folder (absolute or with ".."), and if a folder cannot be made; levin::Error if a file or `folder`
/// cannot be written.
void unpack_archive(const std::filesystem::path& archive, const std::filesystem::path& folder,
                    int64_t strip_components = 0);

}  // namespace levin::data
