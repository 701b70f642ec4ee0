#pragma once
#include <filesystem>
#include <string>

namespace levin::data {

/// Returns the SHA-256 of a file's bytes as 64 lower-case hexadecimal digits. Throws levin::UsageError if the file
/// cannot be read. FIPS 180-4.
std::string sha256_of(const std::filesystem::path& path);

}  // namespace levin::data
