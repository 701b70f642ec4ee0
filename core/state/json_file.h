#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace levin {

/// Reads a JSON file of at most 64 MB. Throws levin::UsageError that names the file, and the line of what is no JSON.
nlohmann::ordered_json read_json_file(const std::filesystem::path& path);

}  // namespace levin
