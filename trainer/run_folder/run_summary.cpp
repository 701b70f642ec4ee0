#include <levin/trainer/run_folder/run_summary.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/json_member.h>
#include <levin/core/system/json_text.h>

namespace levin {

void write_run_summary(const std::filesystem::path& folder, const RunResult& result) {
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
  for (const auto& [name, value] : result.metrics) add_member(metrics, name, json_number(value));
  const nlohmann::ordered_json json = {
      {"status", result.status},
      {"epochs", result.epochs},
      {"global_step", result.global_step},
      {"wall_seconds", json_number(result.wall_seconds)},
      {"metrics", metrics},
      {"best_checkpoint", result.best_checkpoint.empty() ? nlohmann::ordered_json()
                                                         : nlohmann::ordered_json(result.best_checkpoint.string())},
      {"best_score", result.best_score ? json_number(*result.best_score) : nlohmann::ordered_json()},
  };
  write_text_file_atomically(folder / "summary.json", json_text(json, 2) + '\n');
}

}  // namespace levin
