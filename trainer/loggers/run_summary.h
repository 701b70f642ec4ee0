#pragma once
#include <levin/trainer/core/run/metrics.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace levin {

/// The result of a run, as written to summary.json.
struct RunSummary {
  std::string status = {};
  int64_t epochs = 0;
  int64_t global_step = 0;
  double wall_seconds = 0;
  Metrics metrics = {};
  std::optional<std::string> best_checkpoint = {};  ///< unset: null
  std::optional<double> best_score = {};
};

/// Writes the fields of RunSummary to `folder/summary.json` atomically. Values that are not finite become the texts
/// "NaN", "Infinity" and "-Infinity". Throws levin::Error if the file cannot be written.
void write_run_summary(const std::filesystem::path& folder, const RunSummary& summary);

}  // namespace levin
