#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace levin::data {

/// Returns the SHA-256 of a file's bytes as 64 lower-case hexadecimal digits. Throws levin::UsageError if the file
/// cannot be read. FIPS 180-4.
std::string sha256_of(const std::filesystem::path& path);
/// The same of bytes in memory.
std::string sha256_of_bytes(std::string_view bytes);

}  // namespace levin::data
