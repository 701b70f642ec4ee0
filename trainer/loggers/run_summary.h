#pragma once
#include <levin/trainer/core/metrics.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace levin {

/// How a run ended.
struct RunSummary {
  std::string status = {};
  int64_t epochs = 0;
  int64_t global_step = 0;
  double wall_seconds = 0;
  Metrics metrics = {};
  std::optional<std::string> best_checkpoint = {};  ///< unset: null
  std::optional<double> best_score = {};
};

/// Writes `folder/summary.json` whole or not at all, with the fields of RunSummary. Values that are not finite are the
/// texts "NaN", "Infinity" and "-Infinity". Throws levin::Error where it cannot be written.
void write_run_summary(const std::filesystem::path& folder, const RunSummary& summary);

}  // namespace levin
