#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>
#include <levin/core/state/state.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin::optim {

class Gradients;

/// The options of GradScaler, with the defaults of PyTorch.
struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  bool enabled = true;  ///< false: losses and gradients are unchanged and no step is skipped
};

/// Gradient scaling for float16: multiplies losses by a scale before backward and divides gradients by it before the
/// step. A step whose gradients are not finite is skipped and lowers the scale; after `growth_interval` consecutive
/// steps the scale grows. Works in any LibTorch program and with any optimizer:
///
///     levin::optim::GradScaler scaler;
///     for (...) {
///       optimizer.zero_grad();
///       {
///         const levin::Autocast autocast(at::kCUDA, at::kHalf);
///         loss = F::cross_entropy(net(input), target);
///       }
///       scaler.scale(loss).backward();
///       scaler.unscale_(optimizer);  // only if the gradients are read or clipped
///       scaler.step(optimizer);
///       scaler.update();
///     }
///
/// Scale and growth tracker are stored on the device of the first loss. Several optimizers can share a scaler, with one
/// `update` for all. Source: https://pytorch.org/docs/stable/amp.html#torch.amp.GradScaler
class GradScaler {
 public:
  using Options = GradScalerOptions;

  GradScaler();
  /// Throws levin::UsageError for a growth_factor of at most 1 or a backoff_factor of at least 1.
  explicit GradScaler(GradScalerOptions options);

  bool is_enabled() const { return options_.enabled; }
  /// Returns `outputs`, of any shape, times the scale.
  at::Tensor scale(const at::Tensor& outputs);

  /// Divides the gradients of the optimizer's parameters by the scale and checks that all are finite. Throws
  /// levin::UsageError if it was already called since the last `update`, nothing was scaled yet, or a gradient is
  /// float16.
  void unscale_(torch::optim::Optimizer& optimizer);
  /// Does the same for `gradients`, which are also multiplied by `multiplier`.
  void unscale_(torch::optim::Optimizer& optimizer, Gradients& gradients, double multiplier);
  /// Returns whether the gradients are unscaled and the step is still to come.
  bool is_unscaled(const torch::optim::Optimizer& optimizer) const;
  /// Returns whether any optimizer was unscaled since the last `update`.
  bool is_in_use() const { return !used_.empty(); }
  /// Returns whether any optimizer was unscaled since the last `update` and all of these have stepped.
  bool all_stepped() const;
  /// Returns a float32 tensor [1] that is nonzero if a gradient of this optimizer was not finite. Programs with several
  /// ranks can reduce it between `unscale_` and `step`. Throws levin::UsageError before `unscale_`.
  at::Tensor& found_inf(const torch::optim::Optimizer& optimizer);

  /// Calls `unscale_` if it was not called yet, then steps if the gradients are finite; returns whether it stepped.
  /// Host sync. Throws levin::UsageError if `step` was already called since the last `update`.
  bool step(torch::optim::Optimizer& optimizer);
  /// Does the same with `make_step` as the step.
  bool step(torch::optim::Optimizer& optimizer, c10::function_ref<void()> make_step);

  /// Ends an iteration: adapts the scale to the results of the steps, or sets it to `new_scale`. Throws
  /// levin::UsageError if no optimizer was unscaled or stepped.
  void update(std::optional<double> new_scale = {});

  /// Returns the scale; 1 if not enabled. Host sync.
  double get_scale() const;
  /// Returns the state in the layout of Python's `GradScaler.state_dict()`; empty if not enabled.
  State state_dict() const;
  /// Restores a state that levin's or Python's scaler returned; a no-op if not enabled. Throws levin::UsageError for
  /// the state of a scaler that was not enabled.
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

  GradScalerOptions options_;
  int64_t first_growth_tracker_ = 0;
  at::Tensor scale_ = {}, growth_tracker_ = {};  ///< float32 and int32 scalars, defined after the first `scale`
  std::vector<Used> used_ = {};
};

}  // namespace levin::optim

namespace levin {

// The spelling before names of optimizers moved to levin::optim.
using optim::GradScaler;
using optim::GradScalerOptions;

}  // namespace levin
