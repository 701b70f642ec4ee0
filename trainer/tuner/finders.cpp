#include <levin/trainer/tuner/finders.h>
#include <levin/callbacks/registry.h>
#include <levin/trainer/launch/start_identity.h>
#include <levin/trainer/options/resolved_options.h>
#include <levin/trainer/run/run_inputs.h>
#include <levin/trainer/run_folder/find_checkpoint.h>
#include <levin/trainer/trainer.h>
#include <levin/trainer/tuner/batch_size_finder.h>
#include <levin/trainer/tuner/learning_rate_finder.h>

namespace levin {

bool finder_may_search(const Trainer& trainer, const RunInputs& inputs) {
  if (trainer.options()->fast_dev_run) return false;
  const StartIdentity start = find_start();
  return !find_checkpoint({.runs = trainer.options().runs_folder(),
                           .ckpt_path = inputs.ckpt_path,
                           .restarted = start.restarts > 0 ? start.of_fit(1) : ""});
}

void register_finders() {
  [[maybe_unused]] static const bool once =
      add_callback<LearningRateFinder>(CallbackKind::registry(), "LearningRateFinder",
                                       "Looks for a learning rate before the fit") &&
      add_callback<BatchSizeFinder>(CallbackKind::registry(), "BatchSizeFinder",
                                    "Looks for the largest batch that fits into memory before the fit");
}

}  // namespace levin
