#include <levin/trainer/checkpoint/checkpoint_files.h>
#include <levin/trainer/core/console.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/state_file.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace levin {
namespace fs = std::filesystem;
namespace {

/// Newest first.
std::vector<fs::path> checkpoints_below(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".ckpt") continue;
    std::error_code gone;
    const fs::file_time_type time = entry->last_write_time(gone);
    if (!gone) found.emplace_back(time, entry->path());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> files;
  for (auto& [time, file] : found) files.push_back(std::move(file));
  return files;
}

}  // namespace

std::optional<ReadCheckpoint> newest_checkpoint(const fs::path& folder) {
  for (const fs::path& file : checkpoints_below(folder)) {
    try {
      State state = load_state(file);
      if (state.is_dict() && state.contains("optimizer_states")) return ReadCheckpoint{file, std::move(state)};
    } catch (const UsageError& error) {
      console::warn(c10::str("an older checkpoint is looked for: ", error.what()));
    }
  }
  return {};
}

fs::path best_model_path(const ReadCheckpoint& newest) {
  const State* callbacks = newest.state.find("callbacks");
  if (callbacks != nullptr)
    for (const auto& [key, state] : callbacks->to_dict()) {
      if (to_text(key).rfind("ModelCheckpoint", 0) != 0 || state.at("monitor").is_none()) continue;
      const fs::path best = state.at("best_model_path").to_string();
      if (best.empty()) continue;
      if (!fs::exists(best))
        throw UsageError("ckpt_path \"best\": ", newest.file.string(), " names ", best.string(),
                         " as the best, and that file is gone");
      return best;
    }
  throw UsageError("ckpt_path \"best\": no ModelCheckpoint of the run that wrote ", newest.file.string(),
                   " has a monitor, the metric that says which is the best; give it one, or choose \"last\" or a file");
}

fs::path run_folder_of(const fs::path& file, const fs::path& runs) {
  const fs::path below =
      fs::absolute(file).lexically_normal().lexically_relative(fs::absolute(runs).lexically_normal());
  if (below.empty() || below.begin()->string().rfind("version_", 0) != 0) return {};
  return (runs / *below.begin()).lexically_normal();
}

bool ended_in_order(const fs::path& run_folder) {
  std::ifstream file(run_folder / "summary.json");
  const auto summary = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  return summary.is_object() && summary.value("status", "failed") != "failed";
}

}  // namespace levin
