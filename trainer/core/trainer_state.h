#pragma once
#include <levin/trainer/core/stage.h>
#include <levin/trainer/core/state.h>

#include <cstdint>

namespace levin {

/// The accumulation window: the micro-batches between two optimizer steps.
struct WindowState {
  int64_t position = 0;       ///< micro-batches of this window that are done
  int64_t size = 1;           ///< k: micro-batches of a full window
  double first_weight = 0;    ///< w0: the weight that loss weights are divided by
  double sum_of_weights = 0;  ///< of the micro-batches that are done
};

/// How far the newest train batch has come; a checkpoint can be saved in each of these places.
enum class BatchPhase : int64_t {
  Done,        ///< all is done
  HooksDone,   ///< its hooks have run and its values are logged; a validation may follow
  Validating,  ///< inside the validation that follows it
  Validated,   ///< schedulers that follow a metric have still to step
};

/// Every counter of a run. There are no second copies.
struct TrainerState {
  Stage stage = Stage::Fit;
  int64_t epoch = 0;           ///< epochs that are done
  int64_t batch_in_epoch = 0;  ///< train batches of this epoch that are done
  int64_t batches_seen = 0;    ///< train batches of the run that are done
  int64_t global_step = 0;     ///< windows in which any optimizer was asked to step
  int64_t samples_seen = 0;    ///< train samples of the run that are done
  int64_t skipped_steps = 0;   ///< of those, windows whose gradients were not finite: the scaler left the step out
  int64_t accumulate_grad_batches = 1;  ///< k of the windows to come
  /// w0 of all windows, where there are several ranks: the run's first that is not 0; 0 until it is known.
  double reference_weight = 0;
  WindowState window = {};
  BatchPhase batch_phase = BatchPhase::Done;
  bool stepped = false;               ///< the newest train batch ended with an optimizer step, which was not skipped
  bool last_batch = false;            ///< it was its epoch's last
  bool time_to_validate = false;      ///< what the ranks agreed on at the newest window's end
  int64_t batches_of_last_epoch = 0;  ///< train batches of the newest epoch that is done
  int64_t evaluation_loader = 0;      ///< index of the loader that is being evaluated
  int64_t evaluation_batch = 0;       ///< batches of that loader that are done
  double elapsed_seconds = 0;         ///< of fit, over all its sessions
  double validated_seconds = 0;       ///< elapsed_seconds at the end of the last validation

  State state_dict() const;
  /// Throws levin::Error where a counter is missing or of another kind.
  void load_state_dict(const State& state);
};

}  // namespace levin
