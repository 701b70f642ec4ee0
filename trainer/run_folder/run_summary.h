#pragma once
#include <levin/trainer/run_folder/run_result.h>

#include <filesystem>

namespace levin {

/// Writes a run's result to `folder/summary.json` atomically. Values that are not finite become the texts "NaN",
/// "Infinity" and "-Infinity"; an empty best_checkpoint becomes null. Throws levin::Error if the file cannot be
/// written.
void write_run_summary(const std::filesystem::path& folder, const RunResult& result);

}  // namespace levin
