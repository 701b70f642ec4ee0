#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/gradient_clip_algorithm.h>

#include <cstddef>
#include <functional>

namespace torch::optim {
class Optimizer;
}

namespace levin {

/// Computes the loss (and, in the trainer's own closures, its gradients).
using Closure = std::function<at::Tensor()>;

/// The interface of the running loop that optimizer handles and manual optimization use.
class OptimizerDriver {
 public:
  virtual ~OptimizerDriver() = default;
  virtual size_t size() const = 0;
  virtual torch::optim::Optimizer& raw(size_t index) = 0;
  virtual void step(size_t index, const Closure& closure) = 0;
  virtual void zero_grad(size_t index) = 0;
  virtual void backward(const at::Tensor& loss) = 0;
  virtual void clip_gradients(size_t index, double value, GradientClipAlgorithm algorithm) = 0;
};

/// A handle of one optimizer of the run: its steps go through the run's strategy and precision and are counted.
class LightningOptimizer {
 public:
  LightningOptimizer(OptimizerDriver& driver, size_t index) : driver_(&driver), index_(index) {}

  /// Steps; `closure` (optional) is evaluated by the optimizer and must compute the gradients.
  void step(const Closure& closure = nullptr) { driver_->step(index_, closure); }
  /// Drops the gradients of the optimizer's parameters.
  void zero_grad() { driver_->zero_grad(index_); }
  /// Clips the gradients of the optimizer's parameters: by their global 2-norm, or each element to [-value, value].
  void clip_gradients(double value, GradientClipAlgorithm algorithm = GradientClipAlgorithm::Norm) {
    driver_->clip_gradients(index_, value, algorithm);
  }
  size_t index() const { return index_; }

  /// Returns the number of parameter groups.
  size_t groups();
  /// Returns the learning rate of a group. Throws levin::UsageError if there is no such group, or if the optimizer has
  /// no learning rate.
  double lr(size_t group = 0);
  /// Sets the learning rate of all groups, from the next step on. A scheduler's next step sets rates again: docs/
  /// schedulers.md says which of them continue from this rate. All ranks must set the same. Throws as `lr`, and for a
  /// rate that is negative or not finite.
  void set_lr(double lr);
  /// Sets the learning rate of one group. To give a parameter its own rate, put it into its own group in
  /// configure_optimizers.
  void set_lr(double lr, size_t group);

  /// Returns the underlying LibTorch optimizer; its steps bypass the trainer.
  torch::optim::Optimizer& raw() { return driver_->raw(index_); }

 private:
  OptimizerDriver* driver_;
  size_t index_;
};

}  // namespace levin
