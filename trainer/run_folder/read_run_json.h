#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace levin {

/// Reads a JSON file of a run's folder; a discarded value if it is missing or damaged. Throws levin::UsageError if the
/// system does not read it now (a device that fails, too many open files): then it says nothing of the run.
nlohmann::json read_run_json(const std::filesystem::path& file);

}  // namespace levin
