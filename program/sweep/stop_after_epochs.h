#pragma once
#include <levin/callbacks/callback.h>

#include <cstdint>
#include <memory>

namespace levin::sweep {

/// Ends a fit after so many epochs and saves a checkpoint, from which a later fit goes on. The fit's max_epochs stays
/// as it is, so that schedules over the whole training do not change.
class StopAfterEpochs : public Callback {
 public:
  /// The environment variable by which a sweep asks for it.
  static constexpr const char* kVariable = "LEVIN_SWEEP_EPOCHS";
  /// Returns the callback that the environment asks for; nullptr without the variable.
  static std::shared_ptr<StopAfterEpochs> of_environment();

  explicit StopAfterEpochs(int64_t epochs) : epochs_(epochs) {}
  void on_train_epoch_end(Run& run) override;

 private:
  int64_t epochs_;
};

}  // namespace levin::sweep
