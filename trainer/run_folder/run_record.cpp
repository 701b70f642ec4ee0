#include <levin/trainer/run_folder/run_record.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/random_id.h>
#include <levin/trainer/run_folder/read_run_json.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin {
namespace {

std::vector<std::string> texts_of(const nlohmann::json& json, const char* key) {
  std::vector<std::string> texts;
  if (!json.contains(key) || !json[key].is_array()) return texts;
  for (const auto& item : json[key])
    if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

}  // namespace

bool RunRecord::has_start(const std::string& start) const {
  return !start.empty() && std::find(starts.begin(), starts.end(), start) != starts.end();
}

RunRecord new_run_record() { return {.id = random_id()}; }

std::optional<RunRecord> read_run_record(const std::filesystem::path& run_folder) {
  // A run that continued with another id would not find its checkpoints elsewhere.
  const nlohmann::json json = read_run_json(run_folder / kRunRecordFile);
  if (!json.is_object() || !json.contains("id") || !json["id"].is_string()) return {};
  RunRecord record{json["id"].get<std::string>(), texts_of(json, "starts"), texts_of(json, "checkpoint_folders")};
  if (const auto after = json.find("trained_on_after"); after != json.end() && after->is_number_integer())
    record.trained_on_after = after->get<int64_t>();
  return record;
}

void write_run_record(const std::filesystem::path& run_folder, const RunRecord& record) {
  nlohmann::ordered_json json = {
      {"id", record.id}, {"starts", record.starts}, {"checkpoint_folders", record.checkpoint_folders}};
  if (record.trained_on_after >= 0) json["trained_on_after"] = record.trained_on_after;
  write_text_file_atomically(run_folder / kRunRecordFile, json.dump(2) + "\n");
}

}  // namespace levin
