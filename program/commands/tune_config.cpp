#include <levin/program/commands/tune_config.h>
#include <ATen/Context.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/trainer/launch/start_identity.h>
#include <levin/trainer/run_folder/find_checkpoint.h>
#include <levin/trainer/tuner/lr_scaling.h>
#include <levin/trainer/tuner/tuner.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace levin::cli {
namespace {

using Pointer = Json::json_pointer;

/// Returns the first of `places` at which the config has a number.
Pointer place_of(const Json& config, const std::vector<const char*>& places, const char* option, const char* what) {
  for (const char* place : places)
    if (const Pointer pointer(place); config.contains(pointer) && config[pointer].is_number()) return pointer;
  std::string tried;
  for (const char* place : places) {
    std::string path = std::string(place).substr(1);
    for (char& c : path)
      if (c == '/') c = '.';
    tried += (tried.empty() ? "" : ", ") + path;
  }
  throw UsageError("trainer.", option, ": the config has no ", what, " to change; looked for ", tried,
                   "; choose a class with such an option, or leave ", option, " unset");
}

Pointer rate_place(const Json& config) {
  return place_of(config, {"/model/optimizer/lr", "/model/lr", "/model/learning_rate"}, "auto_lr_find",
                  "learning rate");
}
Pointer batch_size_place(const Json& config) {
  return place_of(config, {"/data/batch_size"}, "auto_scale_batch_size", "batch size");
}

/// Returns the config of the run that the fit resumes; nullopt if it starts from the beginning.
std::optional<Json> config_of_checkpoint(const TrainerOptions& options, const std::string& ckpt_path) {
  const StartIdentity start = find_start();
  const std::optional<FoundCheckpoint> found =
      find_checkpoint({.runs = std::filesystem::path(options.default_root_dir) / options.name,
                       .ckpt_path = ckpt_path,
                       .restarted = start.restarts > 0 ? start.of_fit(1) : ""});
  if (!found) return {};
  const State* own = found->checkpoint.state.find("levin");
  if (own == nullptr)
    throw UsageError(found->checkpoint.file.string(),
                     ": PyTorch Lightning's checkpoint does not say which batch size and rate its run had; "
                     "set them in the config, and leave auto_lr_find and auto_scale_batch_size unset");
  return Json::parse(own->at("config").to_string());
}

/// Returns the rate for the new batch size according to `scale_lr`.
double scaled_rate(double lr, const TrainerOptions& asked, const BatchSizeResult& found, int64_t before) {
  return scale_lr(lr, found.batch_size, before, *asked.scale_lr);
}

/// Runs the searches and writes the results into `config`.
void tune_with_parts(Json& config, const ReadOptions& options) {
  const TrainerOptions& asked = options.trainer;
  if (asked.seed) at::manual_seed(static_cast<uint64_t>(*asked.seed));
  const auto module = options.model.make("model");
  const auto data = options.data ? options.data.make("data") : nullptr;
  Trainer trainer(asked);
  const TuneResult found = data ? tune(trainer, *module, *data) : tune(trainer, *module);
  if (found.lr_find) config[rate_place(config)] = *found.lr_find->suggestion();
  if (!found.batch_size) return;
  Json& size = config[batch_size_place(config)];
  if (asked.scale_lr) {
    Json& lr = config[rate_place(config)];
    lr = scaled_rate(lr.get<double>(), asked, *found.batch_size, size.get<int64_t>());
  }
  size = found.batch_size->batch_size;
}

}  // namespace

bool asks_for_tuning(const TrainerOptions& options) { return options.auto_lr_find || options.auto_scale_batch_size; }

ReadOptions tune_config(ReadOptions options, const std::string& ckpt_path) {
  const Json whole = schema_of<RunOptions>().get(&options);
  Json config = {{"model", whole.at("model")}, {"data", whole.at("data")}};
  const bool changes_rate = options.trainer.auto_lr_find || options.trainer.scale_lr;
  const bool changes_size = options.trainer.auto_scale_batch_size.has_value();
  // Checked before the search, which takes long.
  if (changes_rate) rate_place(config);
  if (changes_size) batch_size_place(config);
  if (const std::optional<Json> before = config_of_checkpoint(options.trainer, ckpt_path)) {
    if (changes_rate) config[rate_place(config)] = before->at(rate_place(*before));
    if (changes_size) config[batch_size_place(config)] = before->at(batch_size_place(*before));
    console::info("the run keeps the batch size and the learning rate that were found when it started");
  } else {
    tune_with_parts(config, options);
  }
  if (config["data"].is_null()) config.erase("data");
  schema_of<RunOptions>().set(&options, "", config);
  options.trainer.auto_lr_find = false;
  options.trainer.auto_scale_batch_size = {};
  options.trainer.scale_lr = {};
  options.resolve_again();
  return options;
}

}  // namespace levin::cli
