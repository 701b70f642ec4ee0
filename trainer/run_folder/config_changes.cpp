#include <levin/trainer/run_folder/config_changes.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace levin {
namespace {

using ConfigJson = nlohmann::ordered_json;

std::string value_text(const ConfigJson* value) { return value == nullptr ? "unset" : value->dump(); }

bool is_of_environment(const std::string& text) { return text.find("${env:") != std::string::npos; }

std::string change_text(const std::string& before, const std::string& now) {
  // One value may be the secret that the other refers to.
  if (is_of_environment(before) != is_of_environment(now)) return "now or then a value of the environment";
  return now + " (it was " + before + ")";
}

const ConfigJson* member(const ConfigJson& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

void add_changes(const std::string& path, const ConfigJson* before, const ConfigJson* now,
                 std::vector<std::string>& changes) {
  if (before != nullptr && now != nullptr && *before == *now) return;
  const bool both_objects = before != nullptr && now != nullptr && before->is_object() && now->is_object();
  if (!both_objects) {
    changes.push_back(path + ": " + change_text(value_text(before), value_text(now)));
    return;
  }
  std::vector<std::string> keys;
  for (const ConfigJson* object : {before, now})
    for (const auto& item : object->items())
      if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) keys.push_back(item.key());
  for (const std::string& key : keys)
    add_changes(path.empty() ? key : path + "." + key, member(*before, key), member(*now, key), changes);
}

/// Options of schedulers that decide when they step, or what happens in a longer run: no state holds them.
bool counts_as_now(const std::string& key) {
  static const std::set<std::string> kPresent = {"interval",    "frequency",   "monitor", "strict",
                                                 "when_longer", "total_steps", "epochs",  "steps_per_epoch"};
  return kPresent.contains(key);
}

/// Puts saved values in the place of present ones in a part that keeps its class.
void keep_saved_part(const std::string& path, const ConfigJson& before, ConfigJson& now,
                     std::vector<std::string>& without_effect) {
  if (!before.is_object() || !now.is_object() || before.value("class", "") != now.value("class", "")) return;
  for (auto& [key, value] : now.items()) {
    const ConfigJson* const saved = member(before, key);
    if (saved == nullptr || *saved == value || counts_as_now(key)) continue;
    without_effect.push_back(path + "." + key + ": " + value.dump() + " has no effect in a resumed run, which keeps " +
                             saved->dump() + "; --resume-optimizer-options present takes the present values");
    value = *saved;
  }
}

}  // namespace

ResumedConfig config_of_resumed_run(const std::string& before, const std::string& now) {
  const auto saved = ConfigJson::parse(before, nullptr, /*allow_exceptions=*/false);
  auto present = ConfigJson::parse(now, nullptr, /*allow_exceptions=*/false);
  ResumedConfig result{.json = now};
  if (!saved.is_object() || !present.is_object()) return result;
  const ConfigJson* const saved_model = member(saved, "model");
  const auto model = present.find("model");
  if (saved_model == nullptr || !saved_model->is_object() || model == present.end() || !model->is_object())
    return result;
  for (const char* part : {"optimizer", "lr_scheduler"}) {
    const ConfigJson* const saved_part = member(*saved_model, part);
    const auto present_part = model->find(part);
    if (saved_part != nullptr && present_part != model->end())
      keep_saved_part(std::string("model.") + part, *saved_part, *present_part, result.without_effect);
  }
  const ConfigJson* const saved_weights = member(*saved_model, "weights");
  const auto weights = model->find("weights");
  if (saved_weights != nullptr && weights != model->end() && *weights != *saved_weights) {
    result.without_effect.push_back("model.weights: " + weights->dump() +
                                    " has no effect in a resumed run, whose weights are the checkpoint's; to begin a "
                                    "new run with them, leave out ckpt_path");
    *weights = *saved_weights;
  }
  if (!result.without_effect.empty()) result.json = present.dump(2) + "\n";
  return result;
}

std::vector<std::string> config_changes(const std::string& before, const std::string& now) {
  const auto first = ConfigJson::parse(before, nullptr, /*allow_exceptions=*/false);
  const auto second = ConfigJson::parse(now, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> changes;
  if (first.is_object() && second.is_object()) add_changes("", &first, &second, changes);
  return changes;
}

}  // namespace levin
