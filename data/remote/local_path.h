#pragma once
#include <filesystem>
#include <string>

namespace levin {

/// Returns a local file with the contents of `path`: `path` itself unless is_remote takes it, the path in a file URL,
/// or else the copy in the cache folder, which is fetched if there is none of the object's present version. Several
/// threads and processes fetch a file once. Throws as find_remote_object and fetch_remote_object.
std::filesystem::path local_path(const std::filesystem::path& path);

/// The same for a folder: its files and those of the folders in it, one level deep, are fetched from a bucket, once
/// for the life of the process. Of a
/// pretrained network in safetensors, other forms of the weights are left out. Throws levin::UsageError also for an
/// empty folder and for http, which has no listing.
std::filesystem::path local_folder(const std::filesystem::path& folder);

/// Returns whether the path is one of a server: remote, and no file URL.
bool is_on_server(const std::filesystem::path& path);

}  // namespace levin
