#pragma once
#include <levin/callbacks/callback.h>
#include <levin/trainer/core/error.h>

namespace levin::cli {

/// What ends an evaluation after a signal: there is nothing to finish.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// Ends a fit at its next optimizer step, and an evaluation at its next batch, once SignalGuard has noted a signal.
class StopOnSignal : public Callback {
 public:
  explicit StopOnSignal(bool is_fit) : is_fit_(is_fit) {}
  void on_train_batch_end(Run& run) override;
  void on_validation_batch_end(Run& run) override;
  void on_test_batch_end(Run& run) override;
  void on_predict_batch_end(Run& run) override;

 private:
  void end_evaluation() const;
  bool is_fit_;
};

}  // namespace levin::cli
