#include <levin/trainer/loggers/run_summary.h>
#include <levin/trainer/loggers/json_number.h>
#include <levin/trainer/loggers/run_folder.h>

namespace levin {

void write_run_summary(const std::filesystem::path& folder, const RunSummary& summary) {
  using Json = nlohmann::ordered_json;
  Json metrics = Json::object();
  for (const auto& [name, value] : summary.metrics) metrics[name] = json_number(value);
  const Json json = {
      {"status", summary.status},
      {"epochs", summary.epochs},
      {"global_step", summary.global_step},
      {"wall_seconds", json_number(summary.wall_seconds)},
      {"metrics", metrics},
      {"best_checkpoint", summary.best_checkpoint ? Json(*summary.best_checkpoint) : Json()},
      {"best_score", summary.best_score ? json_number(*summary.best_score) : Json()},
  };
  write_text_file_atomically(folder / "summary.json", json_text(json, 2) + '\n');
}

}  // namespace levin
