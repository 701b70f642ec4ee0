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

/// Every counter of a run. There are no second copies.
struct TrainerState {
  Stage stage = Stage::Fit;
  int64_t epoch = 0;              ///< epochs that are done
  int64_t batch_in_epoch = 0;     ///< train batches of this epoch that are done
  int64_t batches_seen = 0;       ///< train batches of the run that are done
  int64_t global_step = 0;        ///< windows in which any optimizer was asked to step
  int64_t samples_seen = 0;       ///< train samples of the run that are done
  at::Tensor skipped_steps = {};  ///< int64 scalar on the device, where a gradient scaler is used; read at log points
  int64_t accumulate_grad_batches = 1;  ///< k of the windows to come
  WindowState window = {};
  int64_t evaluation_loader = 0;  ///< index of the loader that is being evaluated
  int64_t evaluation_batch = 0;   ///< batches of that loader that are done
  double elapsed_seconds = 0;     ///< of fit, over all its sessions
  double validated_seconds = 0;   ///< elapsed_seconds at the end of the last validation

  State state_dict() const;
  /// Throws levin::Error where a counter is missing or of another kind.
  void load_state_dict(const State& state);
};

}  // namespace levin
