#pragma once
#include <levin/data/batch.h>
#include <levin/trainer/run/run_state.h>

#include <cstdint>
#include <optional>

namespace levin {

/// The current batch of a loop: while the object lives, hooks can read the batch, and logged values belong to it.
class BatchInHand {
 public:
  /// How values are logged while the batch is in hand.
  struct Logging {
    int64_t step;             ///< the number of the batch, for values of each step
    bool on_step_by_default;  ///< values are logged by step if the caller does not say
  };

  /// `run` and `batch` must outlive the object. Without `logging`, values are logged as between batches.
  BatchInHand(RunState& run, const Batch& batch, int64_t batch_idx, std::optional<Logging> logging = {})
      : run_(run), batch_(batch) {
    run_.in_hand = this;
    run_.batch_idx = batch_idx;
    if (logging) run_.sink.enter_batch(batch, logging->step, logging->on_step_by_default);
  }
  ~BatchInHand() {
    run_.in_hand = nullptr;
    run_.sink.leave_batch();
  }
  BatchInHand(const BatchInHand&) = delete;
  BatchInHand& operator=(const BatchInHand&) = delete;

  const Batch& batch() const { return batch_; }
  /// What predict_step returned for the batch; null before.
  const Batch* prediction() const { return prediction_; }
  /// `prediction` must outlive the object.
  void set_prediction(const Batch& prediction) { prediction_ = &prediction; }

 private:
  RunState& run_;
  const Batch& batch_;
  const Batch* prediction_ = nullptr;
};

}  // namespace levin
