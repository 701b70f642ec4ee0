#pragma once
#include <filesystem>
#include <string>

namespace levin::data {

/// The SHA-256 of a file's bytes, as 64 small hexadecimal digits. Throws levin::UsageError for a file that cannot be
/// read. FIPS 180-4.
std::string sha256_of(const std::filesystem::path& path);

}  // namespace levin::data
