#include <levin/program/config/run_options.h>
#include <levin/core/state/crc32.h>
#include <levin/core/system/error.h>
#include <levin/core/system/url_credentials.h>
#include <levin/program/config/problems.h>
#include <levin/program/config/reference_text.h>
#include <levin/trainer/options/placement.h>

#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

/// Returns the name of a trainer option as the user wrote it.
std::string as_written(const Config& config, const std::string& option) {
  const std::string path = option == "seed" || option == "name" ? option : "trainer." + option;
  const auto origin = config.origins.find(path);
  if (origin == config.origins.end()) return path;
  const bool names_itself = origin->second.rfind("--", 0) == 0 || origin->second.rfind("LEVIN__", 0) == 0;
  return names_itself ? origin->second : path + " (" + origin->second + ")";
}

/// Throws what contradicts each other, by the names as the user wrote them; a no-op if nothing does.
void throw_contradictions(const Config& config, const std::vector<Contradiction>& found) {
  std::vector<std::string> texts;
  for (const Contradiction& one : found)
    texts.push_back(as_written(config, one.one) + " and " + as_written(config, one.other) +
                    " contradict each other: " + one.why);
  throw_problems(texts);
}

/// Returns the error of a wrong value with the place where it was written.
std::string with_place_in(const Config& config, std::string message) {
  // Both are at the top of a config.
  for (const std::string at_top : {"trainer.seed: ", "trainer.name: "})
    if (message.rfind(at_top, 0) == 0) message.erase(0, std::string("trainer.").size());
  return with_place(config, message);
}

}  // namespace

void ReadOptions::resolve_again() { resolved = resolve_here(trainer); }

ReadOptions read_run_options(const Config& config, const std::optional<LaunchEnvironment>& ranks) {
  RunOptions options;
  schema_of<RunOptions>().set(&options, "", config.values);
  if (options.seed) options.trainer.seed = options.seed;
  if (options.name) options.trainer.name = *options.name;
  std::vector<Contradiction> found;
  try {
    ResolvedOptions resolved =
        resolve(options.trainer, {.environment = ranks ? &*ranks : nullptr, .contradictions = &found});
    return {std::move(options), std::move(resolved)};
  } catch (const UsageError& error) {
    throw_contradictions(config, found);
    throw UsageError(with_place_in(config, error.what()));
  }
}

Json options_of_model(const RunOptions& options) { return schema_of<RunOptions>().get(&options).at("model"); }

std::string weights_of_model(const RunOptions& options) {
  const Json model = options_of_model(options);
  const auto weights = model.find("weights");
  return weights != model.end() && weights->is_string() ? weights->get<std::string>() : "";
}

Json resolved_config(const ReadOptions& options) {
  RunOptions resolved = options;
  resolved.trainer = *options.resolved;
  resolved.name = resolved.trainer.name;
  Json config = schema_of<RunOptions>().get(&resolved);
  for (const char* key : {"seed", "name"}) config["trainer"].erase(key);
  for (const char* section : {"model", "data"})
    if (config[section].is_null()) config.erase(section);
  return config;
}

std::string config_text(const ReadOptions& options) {
  return with_escaped_references(resolved_config(options)).dump(2) + "\n";
}

std::string config_text(const ReadOptions& options, const Config& config) {
  return without_credentials(KeptReferences(config, options).config_of_run(options, "{}").json);
}

KeptReferences::KeptReferences(const Config& config, const ReadOptions& options) {
  for (const std::string& path : config.from_environment) texts_[path] = config.references.at(path);
  if (!texts_.empty()) values_ = resolved_config(options);
}

Json KeptReferences::with_texts(Json json, const std::string& section) const {
  const Json before = json;
  json = with_escaped_references(std::move(json));
  for (const auto& [path, text] : texts_) {
    if (path.rfind(section, 0) != 0) continue;
    const std::vector<std::string> keys = keys_of(path.substr(section.size()));
    const Json* const now = find_value(before, keys);
    const Json* const then = find_value(values_, keys_of(path));
    if (now == nullptr || then == nullptr || *now != *then) continue;
    auto& value = *const_cast<Json*>(find_value(json, keys));
    // A class that was written as plain text, but has its options here.
    if (value.is_object() && value.contains("class"))
      value["class"] = text;
    else
      value = text;
  }
  return json;
}

RunConfig KeptReferences::config_of_run(const ReadOptions& options, const std::string& hyperparameters) const {
  if (texts_.empty()) return {config_text(options), hyperparameters};
  RunConfig kept;
  kept.json = with_texts(resolved_config(options), "").dump(2) + "\n";
  // Hyperparameters are values, not a config: without a reference to keep, they are not escaped.
  Json plain = Json::parse(hyperparameters);
  kept.hyperparameters = with_texts(plain, "model.") == with_escaped_references(plain)
                             ? hyperparameters
                             : with_texts(std::move(plain), "model.").dump();
  kept.digest = std::to_string(crc32_of(config_text(options)));
  return kept;
}

}  // namespace levin::cli
