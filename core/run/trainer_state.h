#pragma once
#include <levin/core/run/batch_phase.h>
#include <levin/core/run/stage.h>
#include <levin/core/state/state.h>

#include <cstdint>
#include <vector>

namespace levin {

/// The gradient accumulation window: the micro-batches between two optimizer steps.
struct WindowState {
  int64_t position = 0;       ///< finished micro-batches of this window
  int64_t size = 1;           ///< k: micro-batches of a full window
  double first_weight = 0;    ///< w0: the weight that loss weights are divided by
  double sum_of_weights = 0;  ///< of the finished micro-batches
};

/// Every counter of a run; each is stored only here.
struct TrainerState {
  Stage stage = Stage::Fit;
  int64_t epoch = 0;           ///< finished epochs
  int64_t batch_in_epoch = 0;  ///< finished train batches of this epoch
  int64_t batches_seen = 0;    ///< finished train batches of the run
  int64_t global_step = 0;     ///< windows in which at least one optimizer was asked to step
  int64_t samples_seen = 0;    ///< finished train samples of the run
  int64_t tokens_seen = 0;     ///< what schedules count by tokens: the weights of the finished steps, on all ranks
  int64_t skipped_steps = 0;   ///< windows among global_step that the scaler skipped because gradients were not finite
  int64_t accumulate_grad_batches = 1;  ///< k of the coming windows
  /// w0 of all windows if there are several ranks: the run's first weight other than 0; 0 until it is known.
  double reference_weight = 0;
  WindowState window = {};
  BatchPhase batch_phase = {};
  bool stepped = false;                    ///< the latest train batch ended with an optimizer step that was not skipped
  bool last_batch = false;                 ///< the latest train batch was the last of its epoch
  bool time_to_validate = false;           ///< the ranks' agreement at the latest window's end
  int64_t batches_of_last_epoch = 0;       ///< train batches of the latest finished epoch
  int64_t evaluation_loader = 0;           ///< index of the loader that is being evaluated
  int64_t evaluation_batch = 0;            ///< finished batches of that loader
  double elapsed_seconds = 0;              ///< of fit, over all its sessions
  double validated_seconds = 0;            ///< elapsed_seconds at the end of the last validation
  int64_t validations = 0;                 ///< finished validations
  std::vector<int64_t> metric_steps = {};  ///< of each scheduler: `validations` when it last stepped with a metric

  State state_dict() const;
  /// Throws levin::Error if a counter is missing or of another kind.
  void load_state_dict(const State& state);
};

}  // namespace levin
