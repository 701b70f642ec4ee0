#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/state.h>

#include <memory>

namespace torch::optim {
class Optimizer;
}
namespace torch::nn {
class Module;
}

namespace levin::optim {

/// Functions that change the rows (dimension 0) of a parameter while it is trained, as in Gaussian splatting, or for
/// networks and vocabularies that grow:
///
///     using namespace levin::optim;
///     keep_rows(positions, opacities.sigmoid().flatten() > 0.01);   // pruning
///     append_rows(positions, positions.detach()[chosen] + offsets); // densification
///
/// The parameter remains the same tensor object, so that the module and the optimizer's groups stay valid. Everything
/// that has a value per row changes with it: the state of levin's optimizers, and of LibTorch's optimizers in a
/// LightningModule or a RowTracker; float32 master weights; EMA; and the gradient, if there is one. State of the whole
/// parameter, such as the step count, stays. With LBFGS the number of rows must stay, and the history is dropped.
///
/// Call them between two steps, for example in on_train_batch_end: a graph recorded before a change cannot run backward
/// after it. Under ddp all ranks must make the same change; if shapes differ, the next step throws an error that names
/// them. zero1 does not support these functions.
///
/// All throw levin::UsageError, and change nothing, if no optimizer steps the parameter or a tensor does not fit.

/// Keeps rows of a parameter of shape [n, ...]. `rows` is a mask, bool [n], or the numbers of the rows, int64 [k], in
/// their new order; a number that occurs twice gives two rows with the same state.
void keep_rows(const at::Tensor& parameter, const at::Tensor& rows);

/// Appends `values`, [k, ...], to a parameter of shape [n, ...]; they are converted to its dtype and device. The new
/// rows get the optimizer's initial state, which is 0 for most optimizers.
void append_rows(const at::Tensor& parameter, const at::Tensor& values);

/// What `replace` does with the parameter's optimizer state.
enum class StateAfter {
  Keep,  ///< keep it; the value must have the parameter's shape
  Zero   ///< reset it to the initial state, except the step count; EMA restarts at the new value
};

/// Replaces the value of a parameter; `value` is converted to its dtype and device.
void replace(const at::Tensor& parameter, const at::Tensor& value, StateAfter state);

/// Resizes each parameter of a module to the number of rows that it has in a checkpoint's "state_dict", so that a new
/// module can load a run whose rows have changed. Call it in on_load_checkpoint; the values are 0 until they are
/// loaded. Parameters that differ in another dimension, or are not in the state dict, are unchanged. No optimizer is
/// needed.
void take_row_counts(const torch::nn::Module& module, const State& state_dict);

/// Lets the state of one of LibTorch's optimizers (SGD, Adam, AdamW, RMSprop, Adagrad, LBFGS) follow changes of rows
/// while the tracker lives. levin's optimizers, and those that a LightningModule configures, need no tracker. For an
/// optimizer of another class, a change of rows throws levin::UsageError.
class RowTracker {
 public:
  /// `optimizer` must outlive the tracker.
  explicit RowTracker(torch::optim::Optimizer& optimizer);
  ~RowTracker();
  RowTracker(RowTracker&& other) noexcept;
  RowTracker& operator=(RowTracker&& other) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace levin::optim
