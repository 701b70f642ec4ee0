#pragma once
#include <filesystem>
#include <string>

namespace levin {

/// Returns the URL of the checkpoint that a URL names: a file, or the newest .ckpt below a folder of a bucket, those of
/// the same second by name, in which numbers count as such. Throws levin::UsageError if there is none below the folder.
std::string remote_checkpoint(const std::string& url);

/// Returns whether the URL names a file (.ckpt, .pt, .pth, .safetensors), not a folder.
bool names_file(const std::string& url);

/// Returns `path` unless it is a URL, or else fetches the checkpoint, and the parts of a sharded one, to the cache
/// folder, and returns its file there. Throws as local_path.
std::filesystem::path local_checkpoint(const std::filesystem::path& path);

}  // namespace levin
