#pragma once
#include <ATen/core/Tensor.h>
#include <levin/trainer/core/state/state.h>

#include <memory>

namespace torch::optim {
class Optimizer;
}
namespace torch::nn {
class Module;
}

namespace levin::optim {

/// Functions that change the rows (dimension 0) of a parameter while it is trained, as splatting, growing networks and
/// vocabularies do:
///
///     using namespace levin::optim;
///     keep_rows(positions, opacities.sigmoid().flatten() > 0.01);   // pruning
///     append_rows(positions, positions.detach()[chosen] + offsets); // densification
///
/// The parameter stays the same tensor, so that the module and the optimizer's groups hold what they held. Everything
/// that has a value for each row changes with it: the state of levin's optimizers, of LibTorch's optimizers in a
/// LightningModule or a RowTracker, float32 master weights, EMA, and the gradient, if there is one. Numbers that belong
/// to the whole parameter, such as the count of steps, stay. LBFGS takes no other number of rows, and drops its
/// history.
///
/// Call them between two steps, for example in on_train_batch_end: a graph that was made before a change cannot run
/// backward after it. Under ddp all ranks make the same change; the next step names shapes that differ. zero1 refuses.
///
/// All throw levin::UsageError if no optimizer steps the parameter, and for tensors that do not fit; nothing has
/// changed then.

/// Keeps rows of a parameter of shape [n, ...]. `rows` is a mask, bool [n], or the numbers of the rows, int64 [k], in
/// their new order; a number that comes twice makes a second row with the same state.
void keep_rows(const at::Tensor& parameter, const at::Tensor& rows);

/// Appends `values`, [k, ...], to a parameter of shape [n, ...]; they are converted to its dtype and device. The new
/// rows get the state from before the first step, which is 0 for most optimizers.
void append_rows(const at::Tensor& parameter, const at::Tensor& values);

/// What becomes of a parameter's state if its value is replaced.
enum class StateAfter {
  Keep,  ///< stays; the value must have the parameter's shape
  Zero   ///< becomes that from before the first step, except the count of steps; EMA begins at the value
};

/// Gives a parameter another value, which is converted to its dtype and device.
void replace(const at::Tensor& parameter, const at::Tensor& value, StateAfter state);

/// Gives each parameter of a module as many rows as it has in a checkpoint's "state_dict", so that a run whose rows
/// have changed loads into a new module. Call it in on_load_checkpoint; the values are 0 until they are loaded.
/// Parameters that differ in another dimension, or are not in the state dict, stay. No optimizer is needed.
void take_row_counts(const torch::nn::Module& module, const State& state_dict);

/// Lets the state of one of LibTorch's optimizers (SGD, Adam, AdamW, RMSprop, Adagrad, LBFGS) follow changes of rows
/// while the tracker lives. levin's own optimizers need none, nor do optimizers that a LightningModule configures. A
/// change of rows throws levin::UsageError for an optimizer of another class.
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
