#include <levin/trainer/loggers/run_summary.h>
#include <levin/trainer/core/state/atomic_file.h>
#include <levin/trainer/loggers/json_number.h>

namespace levin {

void write_run_summary(const std::filesystem::path& folder, const RunSummary& summary) {
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
  for (const auto& [name, value] : summary.metrics) metrics[name] = json_number(value);
  const nlohmann::ordered_json json = {
      {"status", summary.status},
      {"epochs", summary.epochs},
      {"global_step", summary.global_step},
      {"wall_seconds", json_number(summary.wall_seconds)},
      {"metrics", metrics},
      {"best_checkpoint",
       summary.best_checkpoint ? nlohmann::ordered_json(*summary.best_checkpoint) : nlohmann::ordered_json()},
      {"best_score", summary.best_score ? json_number(*summary.best_score) : nlohmann::ordered_json()},
  };
  write_text_file_atomically(folder / "summary.json", json_text(json, 2) + '\n');
}

}  // namespace levin
