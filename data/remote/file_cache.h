#pragma once
#include <cstdint>
#include <filesystem>

namespace levin::data {

/// The copies of remote files that local_path has fetched: a folder for each version of a file, or of a folder, below
/// `remote` of the cache folder. All processes of a machine share them. Together they take at most cache_bytes(); those
/// used least recently go first, and none that a living process has taken.

/// Returns the folder for a version of what is at a URL. From now on, and until this process ends, no process removes
/// it.
std::filesystem::path take_cached_folder(const std::string& url, const std::string& version);

/// Removes folders that nobody has taken until `bytes` more fit. Warns once if the files in use alone are too large. A
/// file system without locks keeps all.
void make_room_for(int64_t bytes);

}  // namespace levin::data
