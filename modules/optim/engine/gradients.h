#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin {

/// Throws levin::UsageError if a parameter is given twice.
void check_given_once(const std::vector<at::Tensor>& parameters);

/// Parameters whose gradients are worked on together.
struct GradientBlock {
  std::vector<at::Tensor> parameters = {};
};

/// The gradients of one optimizer's parameters.
///
/// Parameters without a gradient are skipped. Gradients may be on several devices and of several dtypes; sparse ones
/// are coalesced where that matters. Nothing here waits for a device.
class Gradients {
 public:
  struct PassResult {
    /// 1 where a gradient was infinite or NaN before the multiplication, else 0: float32 [1], on the first parameter's
    /// device; undefined unless wanted.
    at::Tensor found_inf = {};
    /// Global 2-norm after the multiplication: scalar, on the first gradient's device; undefined unless wanted.
    at::Tensor norm = {};
  };

  /// One block of all parameters. Throws levin::UsageError if one is given twice.
  explicit Gradients(std::vector<at::Tensor> parameters);
  /// The same for parameters that are known to be given once.
  static Gradients of_checked(std::vector<at::Tensor> parameters);

  /// Takes what the groups of `optimizer` hold now, in one block, where that is not what is here already: groups may be
  /// added and tensors exchanged between two steps. Returns whether it was something else.
  bool follow(const torch::optim::Optimizer& optimizer);

  /// Divides the parameters into blocks; together they must hold each parameter once, or levin::UsageError is thrown.
  void set_layout(std::vector<GradientBlock> blocks);
  const std::vector<GradientBlock>& layout() const { return blocks_; }

  /// Drops all gradients, as torch::optim::Optimizer::zero_grad() does.
  void zero();

  /// Multiplies all gradients in place, and finds what is wanted of them on the way. A multiplier of 1.0 costs nothing.
  PassResult pass(double multiplier, bool want_norm, bool want_found_inf = false);
  /// The same with a multiplier of one element, on any device.
  PassResult pass(const at::Tensor& multiplier, bool want_norm, bool want_found_inf = false);

  /// Multiplies all gradients by min(1, max_norm / (norm + 1e-6)), with the same float operations as
  /// torch::nn::utils::clip_grad_norm_. `norm`: one element, as from `pass`. On the CPU nothing is written where the
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

/// min(1, max_norm / (norm + 1e-6)), rounded as the norm's dtype; nothing for a norm on another device than the CPU,
/// where reading it would wait.
std::optional<double> clip_coefficient(const at::Tensor& norm, double max_norm);

}  // namespace levin
