#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin::optim {

/// Throws levin::UsageError for a duplicate parameter.
void check_unique(const std::vector<at::Tensor>& parameters);

/// Parameters whose gradients are processed together.
struct GradientBlock {
  std::vector<at::Tensor> parameters = {};
};

/// The gradients of one optimizer's parameters.
///
/// Parameters without a gradient are skipped. Gradients may be on several devices and of several dtypes; sparse
/// gradients are coalesced if necessary. No function makes a host sync.
class Gradients {
 public:
  struct PassResult {
    /// 1 if a gradient was infinite or NaN before the multiplication, else 0: float32 [1], on the first parameter's
    /// device; undefined unless requested.
    at::Tensor found_inf = {};
    /// Global 2-norm after the multiplication: scalar, on the first gradient's device; undefined unless requested.
    at::Tensor norm = {};
  };

  /// Makes one block of all parameters. Throws levin::UsageError for a duplicate parameter.
  explicit Gradients(std::vector<at::Tensor> parameters);
  /// Returns the same for parameters that are known to be unique.
  static Gradients of_checked(std::vector<at::Tensor> parameters);

  /// Updates to the current parameters of `optimizer`'s groups, in one block, if these have changed: groups may be
  /// added and tensors replaced between two steps. Returns whether they had changed.
  bool follow(const torch::optim::Optimizer& optimizer);

  /// Divides the parameters into blocks; together they must hold each parameter once, or levin::UsageError is thrown.
  void set_layout(std::vector<GradientBlock> blocks);
  const std::vector<GradientBlock>& layout() const { return blocks_; }

  /// Drops all gradients, as torch::optim::Optimizer::zero_grad() does.
  void zero();

  /// Multiplies all gradients in place and computes the requested results in the same pass. A multiplier of 1.0 costs
  /// nothing.
  PassResult pass(double multiplier, bool want_norm, bool want_found_inf = false);
  /// Returns the same with a multiplier of one element, on any device.
  PassResult pass(const at::Tensor& multiplier, bool want_norm, bool want_found_inf = false);

  /// Multiplies all gradients by min(1, max_norm / (norm + 1e-6)), with the same float operations as
  /// torch::nn::utils::clip_grad_norm_. `norm`: one element, as from `pass`. On the CPU nothing is written if the
  /// factor is 1.
  void clip_norm(const at::Tensor& norm, double max_norm);
  /// Clamps each element to [-max_value, max_value], as torch.nn.utils.clip_grad_value_.
  void clip_value(double max_value);

 private:
  Gradients() = default;
  bool has_parameters_of(const torch::optim::Optimizer& optimizer) const;
  std::vector<at::Tensor> in_one_pass() const;

  std::vector<GradientBlock> blocks_;
};

/// Returns min(1, max_norm / (norm + 1e-6)), rounded to the norm's dtype; unset for a norm that is not on the CPU,
/// since reading it would be a host sync.
std::optional<double> clip_coefficient(const at::Tensor& norm, double max_norm);

}  // namespace levin::optim
