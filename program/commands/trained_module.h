#pragma once
#include <levin/core/state/state.h>
#include <levin/data/data_module.h>
#include <levin/modules/lightning_module.h>
#include <levin/program/config/run_options.h>
#include <levin/trainer/fit/assembly.h>
#include <levin/trainer/options/placement.h>
#include <levin/trainer/run_folder/find_checkpoint.h>

#include <optional>
#include <string>

namespace levin::cli {

/// What --ckpt-path names, or model.weights without it.
struct TrainedWeights {
  std::string file = {};                           ///< empty: neither
  std::optional<FoundCheckpoint> checkpoint = {};  ///< a run's; otherwise --ckpt-path is `file`
  State learned_from_data = {};

  void load(LightningModule& module, const std::string& ckpt_path) const;
};

/// Finds them: a file of weights, or a run's checkpoint as predict does. Throws UsageError if there is none.
TrainedWeights find_trained_weights(const ReadOptions& options, const std::string& ckpt_path);

/// A module that is set up as a prediction would do it, with its data, and has its weights.
class TrainedModule {
 public:
  TrainedModule(LightningModule& module, data::DataModule* data, const TrainedWeights& trained,
                const std::string& ckpt_path);

 private:
  const ResolvedOptions options_;
  const Placement placement_;
  Assembly assembly_;
};

}  // namespace levin::cli
