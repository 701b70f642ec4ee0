#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>
#include <levin/trainer/core/state/state.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin {

class Gradients;

/// Keeps the gradients of float16 in its range: losses are multiplied by a scale before backward, gradients divided by
/// it before the step, and a step whose gradients are not finite is left out and lowers the scale. After
/// `growth_interval` steps in a row the scale grows. Works in any LibTorch program and with any optimizer:
///
///     levin::GradScaler scaler;
///     for (...) {
///       optimizer.zero_grad();
///       {
///         const levin::Autocast autocast(at::kCUDA, at::kHalf);
///         loss = F::cross_entropy(net(input), target);
///       }
///       scaler.scale(loss).backward();
///       scaler.unscale_(optimizer);  // only where the gradients are read or clipped
///       scaler.step(optimizer);
///       scaler.update();
///     }
///
/// Scale and growth tracker are kept on the device of the first loss. Several optimizers share a scaler, with one
/// `update` for all. Source: https://pytorch.org/docs/stable/amp.html#torch.amp.GradScaler
class GradScaler {
 public:
  struct Options {
    double init_scale = 65536;
    double growth_factor = 2;
    double backoff_factor = 0.5;
    int64_t growth_interval = 2000;
    bool enabled = true;  ///< false: losses and gradients stay as they are, and every step is made
  };

  GradScaler();
  /// Throws levin::UsageError for a growth_factor of at most 1 or a backoff_factor of at least 1.
  explicit GradScaler(Options options);

  bool is_enabled() const { return options_.enabled; }
  /// `outputs`, of any shape, times the scale.
  at::Tensor scale(const at::Tensor& outputs);

  /// Divides the gradients of the optimizer's parameters by the scale, and looks whether all are finite. Throws
  /// levin::UsageError where that was done since the last `update`, nothing was scaled yet, or a gradient is float16.
  void unscale_(torch::optim::Optimizer& optimizer);
  /// The same for those gradients, and on the way multiplies them by another number.
  void unscale_(torch::optim::Optimizer& optimizer, Gradients& gradients, double multiplier);
  /// Whether the gradients are unscaled, and the step not made yet.
  bool is_unscaled(const torch::optim::Optimizer& optimizer) const;
  /// Whether optimizers were unscaled since the last `update`.
  bool is_in_use() const { return !used_.empty(); }
  /// Whether they were, and all of them have stepped.
  bool all_stepped() const;
  /// float32 [1], not 0 where a gradient of this optimizer was not finite: for programs whose ranks agree on that
  /// between `unscale_` and `step`. Throws levin::UsageError before `unscale_`.
  at::Tensor& found_inf(const torch::optim::Optimizer& optimizer);

  /// Steps, after `unscale_` where that was not called; says whether the step was made. Waits for the device. Throws
  /// levin::UsageError where it was called since the last `update`.
  bool step(torch::optim::Optimizer& optimizer);
  /// The same with another way to make the step.
  bool step(torch::optim::Optimizer& optimizer, c10::function_ref<void()> make_step);

  /// Ends an iteration: adapts the scale to what the steps found, or sets it. Throws levin::UsageError if no
  /// optimizer was unscaled or stepped.
  void update(std::optional<double> new_scale = {});

  /// The scale; 1 where not enabled. Waits for the device.
  double get_scale() const;
  /// In the layout of Python's `GradScaler.state_dict()`; empty where not enabled.
  State state_dict() const;
  /// Puts such a state back, from here or from Python; nothing where not enabled. Throws levin::UsageError for the
  /// state of a scaler that was not enabled.
  void load_state_dict(const State& state);

 private:
  /// An optimizer that was unscaled since the last update.
  struct Used {
    const torch::optim::Optimizer* optimizer;
    at::Tensor found_inf;
    bool stepped = false;
  };
  Used* find(const torch::optim::Optimizer& optimizer);
  void check_scaled(const char* call) const;

  Options options_;
  int64_t first_growth_tracker_ = 0;
  at::Tensor scale_ = {}, growth_tracker_ = {};  ///< float32 and int32 scalars, from the first `scale` on
  std::vector<Used> used_ = {};
};

}  // namespace levin
