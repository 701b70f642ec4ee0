#include <levin/program/commands/trained_module.h>
#include <levin/core/system/error.h>
#include <levin/data/learned_state.h>
#include <levin/data/remote/local_path.h>
#include <levin/modules/trained_weights.h>
#include <levin/modules/weights.h>
#include <levin/trainer/run_folder/remote_checkpoint.h>

#include <filesystem>
#include <utility>

namespace levin::cli {
namespace {

/// The trainer's options for a module that is set up and not run.
TrainerOptions without_run() {
  TrainerOptions options;
  options.accelerator = Accelerator::Cpu;
  options.logger = false;
  options.enable_checkpointing = options.enable_progress_bar = options.enable_model_summary = false;
  return options;
}

}  // namespace

void TrainedWeights::load(LightningModule& module, const std::string& ckpt_path) const {
  if (checkpoint)
    load_module_state_dict(module, checkpoint->checkpoint.state);
  else if (!ckpt_path.empty())
    load_weights(module, file);
}

TrainedWeights find_trained_weights(const ReadOptions& options, const std::string& ckpt_path) {
  std::error_code ignored;
  if (ckpt_path.empty()) {
    const std::string weights = weights_of_model(options);
    return {.file = weights, .learned_from_data = weights.empty() ? State() : learned_from_data_in(weights)};
  }
  if (std::filesystem::is_regular_file(ckpt_path, ignored) || (is_on_server(ckpt_path) && names_file(ckpt_path))) {
    const std::filesystem::path file = local_path(ckpt_path);
    return {.file = file.string(), .learned_from_data = learned_from_data_in(file)};
  }
  std::optional<FoundCheckpoint> found =
      find_checkpoint({.runs = options.resolved.runs_folder(), .ckpt_path = ckpt_path, .use = CheckpointUse::Weights});
  if (!found) throw UsageError("--ckpt-path ", ckpt_path, ": there is no checkpoint");
  const State* const learned = found->checkpoint.state.find(kLearnedFromData);
  TrainedWeights trained{.file = found->checkpoint.file.string(), .learned_from_data = learned ? *learned : State()};
  trained.checkpoint = std::move(found);
  return trained;
}

TrainedModule::TrainedModule(LightningModule& module, data::DataModule* data, const TrainedWeights& trained,
                             const std::string& ckpt_path)
    : options_(resolve(without_run())),
      placement_(choose_placement(options_, visible_gpus())),
      assembly_(options_, placement_, nullptr, module, data ? std::optional(data::DataModuleRef(*data)) : std::nullopt,
                Stage::Predict, /*trial=*/true) {
  const RunScope scope = assembly_.scope();
  if (data != nullptr) data::use_learned_section(*data, trained.learned_from_data, trained.file);
  assembly_.setup_module();
  trained.load(module, ckpt_path);
}

}  // namespace levin::cli
