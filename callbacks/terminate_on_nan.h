#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/option.h>

namespace levin {

struct TerminateOnNaNOptions {
  bool check_gradients =
      LEVIN_OPTION(check_gradients, false, "Look at the gradients before each step too; not with precision 16-mixed");
};

/// Ends the run with levin::Error (the program exits with 1) once a loss was NaN or infinite, or, with
/// `check_gradients`, a gradient. The error names the layer or operation whose output, or gradient, was the first that
/// is not finite: the batch runs once more under a watch.
///
/// On the CPU the run ends before the weights change. For losses on a GPU it ends with the first batch after the next
/// log point. `check_gradients` reads a number of each step's gradients (a host sync on a GPU).
class TerminateOnNaN : public Callback {
 public:
  using Options = TerminateOnNaNOptions;

  TerminateOnNaN() = default;
  explicit TerminateOnNaN(TerminateOnNaNOptions options) : options_(options) {}

  void on_before_backward(Run& run, at::Tensor& loss) override;
  void on_before_optimizer_step(Run& run, torch::optim::Optimizer& optimizer) override;
  void on_train_batch_end(Run& run) override;

 private:
  TerminateOnNaNOptions options_ = {};
};

}  // namespace levin
