#pragma once
#include <levin/core/state/file_bytes.h>

#include <string>
#include <string_view>

namespace levin::data {

/// Returns whether a file that begins with these bytes is compressed by gzip, zstd, xz, bzip2 or lz4.
bool is_compressed(std::string_view bytes);

/// Returns what a compressed file unpacks to. Throws levin::UsageError that names the file if it is broken or
/// truncated, if it unpacks to more than a thousand times its size, and without libarchive.
std::string decompress(const FileBytes& file);

}  // namespace levin::data
