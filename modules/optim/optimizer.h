#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/state.h>
#include <levin/modules/optim/engine/captured_numbers.h>
#include <levin/modules/optim/engine/group_options.h>
#include <levin/modules/optim/engine/param_state.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <levin/modules/optim/engine/row_change.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace levin::optim {

/// The base class of levin's optimizers: a torch::optim::Optimizer with Python's state layout, for any LibTorch
/// program.
///
/// On the CPU a step is one pass over the memory of parameters, gradients and state, in any memory layout; other
/// devices use LibTorch's fused kernels if available, else its _foreach operations. Parameters without a gradient are
/// skipped.
class Optimizer : public torch::optim::Optimizer {
 public:
  Optimizer(Optimizer&& other) : Optimizer(std::move(other), detail::RowLock()) {}

  /// Makes one step; returns the result of `closure`, which runs with gradients enabled. Throws levin::UsageError for
  /// sparse gradients if the optimizer does not support them.
  at::Tensor step(LossClosure closure = nullptr) final;

  /// Adds a group with its own options or the defaults. Throws as the constructors.
  void add_param_group(const torch::optim::OptimizerParamGroup& group);

  /// Clips the gradients for the next step to this 2-norm over all groups, and returns the norm before clipping (one
  /// element). On the CPU the gradient tensors stay unchanged, which takes one pass over them instead of the two of
  /// clip_grad_norm_.
  at::Tensor clip_grad_norm(double max_norm);
  /// Multiplies the gradients by `multiplier` in the next step only.
  void set_gradient_multiplier(double multiplier) { gradient_multiplier_ = multiplier; }

  // --- steps that are captured in a CUDA graph and replayed ---

  /// Returns whether steps can be captured.
  virtual bool can_be_captured() const { return false; }
  /// Copies learning rates and step counts to the device for the next replay; also required before a capture. Returns
  /// false if other options have changed since the last call, which makes earlier captures invalid.
  bool prepare_replay();
  /// Between `begin_capture` and `end_capture` a step reads these device values and is not counted. It needs existing
  /// state from earlier steps; without state it throws levin::UsageError.
  void begin_capture() { capturing_ = true; }
  void end_capture() { capturing_ = false; }
  /// Within a capture: steps are no-ops if `found_inf`, float32 [1], is nonzero.
  void set_found_inf(const at::Tensor& found_inf);
  /// Counts a step that a replay made.
  void count_replay();

  /// Returns whether the update of an element depends only on that element, its gradient, its state and the step count,
  /// so that parts of a parameter can be stepped separately.
  virtual bool is_elementwise() const { return false; }

  /// A tensor of the optimizer's groups that holds elements of a parameter of `numel_of_whole` elements, from `begin`
  /// on.
  struct Part {
    at::Tensor values;
    int64_t begin, numel_of_whole;
  };
  /// Tells which tensors are parts of parameters; replaces what an earlier call told. Needed for `fused`, which rounds
  /// the last elements of a parameter otherwise.
  void set_parts(const std::vector<Part>& parts);

  /// Drops the gradients, or fills them with zeros. LibTorch's zero_grad runs one operation per parameter in both
  /// cases.
  void zero_grad(bool set_to_none = true);

  /// Returns the state in the layout of Python's optimizer.state_dict(). Tensors share the optimizer's memory.
  State state_dict() const;
  /// Loads the state of a levin or Python optimizer into an optimizer of the same class over the same parameters.
  /// Tensors are copied and converted to the device and dtype of their parameter. Throws levin::UsageError if groups,
  /// parameters or shapes do not match; the optimizer is then unchanged.
  void load_state_dict(const State& state);
  /// Returns the options of a group in the same layout. Throws std::out_of_range.
  State group_state(size_t group) const;

  /// For torch::save and torch::load.
  void save(torch::serialize::OutputArchive& archive) const final;
  void load(torch::serialize::InputArchive& archive) final;

 protected:
  /// A parameter that has a gradient in the current step.
  struct Member {
    const at::Tensor* parameter;
    at::Tensor gradient;
    ParamState* state;
    int64_t begin = 0, numel_of_whole = 0;  ///< of a part (set_parts)
  };
  using Members = std::vector<Member>;

  Optimizer(std::string name, const ParamGroups& groups, std::unique_ptr<torch::optim::OptimizerOptions> defaults);

  /// Returns the factor for the gradients in this step; negated if `maximize` is set.
  double gradient_multiplier() const { return gradient_multiplier_; }
  /// Returns the numbers of the current group in a captured step; null in other steps.
  const CapturedNumbers* captured_numbers() const { return capturing_ ? &captured_[group_at_hand_].numbers : nullptr; }
  /// Returns the gradient times `gradient_multiplier()`.
  at::Tensor scaled_gradient(const Member& member) const;

  virtual StateNames state_names() const = 0;
  /// Returns the state before the first step.
  virtual ParamState first_state(const torch::optim::OptimizerOptions& options, const Member& member) const = 0;
  /// Steps the parameters of one group that have dense gradients. `state->step` counts this step already.
  virtual void update(const torch::optim::OptimizerOptions& options, Members& members) = 0;
  /// Does the same for one parameter with a sparse, coalesced gradient; throws unless overridden.
  virtual void update_sparse(const torch::optim::OptimizerOptions& options, Member& member);
  /// Returns whether state tensor number `tensor` has a value for each row of the parameter.
  virtual bool has_rows(size_t /*tensor*/, const at::Tensor& /*parameter*/) const { return true; }

 private:
  friend class detail::RowSubscription;
  struct CapturedGroup {
    CapturedNumbers numbers = {};
    std::unique_ptr<torch::optim::OptimizerOptions> options = {};  ///< the options at capture
    double lr = 0;                                                 ///< the rate on the device
  };
  Optimizer(Optimizer&& other, const detail::RowLock& lock);
  void step_group(const torch::optim::OptimizerParamGroup& group);
  /// As `first_state` and `update`, for which complex tensors are real ones with a last dimension of 2, as in PyTorch.
  ParamState state_before_steps(const torch::optim::OptimizerOptions& options, const at::Tensor& parameter,
                                const at::Tensor& gradient) const;
  void update_real(const torch::optim::OptimizerOptions& options, Members& members);
  void check_shapes(const Member& member) const;
  /// Returns the group that holds the parameter; null if none does.
  const torch::optim::OptimizerParamGroup* group_of(const at::Tensor& parameter) const;
  bool has_rows_of(const at::Tensor& parameter) const { return group_of(parameter) != nullptr; }
  void prepare(const at::Tensor& parameter, const detail::RowChange& change, detail::RowCommit& commit);

  std::string name_;
  double gradient_multiplier_ = 1;
  std::vector<CapturedGroup> captured_ = {};
  bool capturing_ = false;
  size_t group_at_hand_ = 0;
  std::unordered_map<const at::TensorImpl*, Part> parts_ = {};  ///< by their values
  detail::RowSubscription rows_{*this};
};

/// Adds a group to an optimizer of any class, with the group's own options. LibTorch's member of the same name is not
/// virtual and ignores the options of groups of levin's optimizers. Throws as the constructors.
void add_param_group(torch::optim::Optimizer& optimizer, const torch::optim::OptimizerParamGroup& group);

}  // namespace levin::optim
