#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/optim/engine/captured_numbers.h>
#include <levin/modules/optim/engine/group_options.h>
#include <levin/modules/optim/engine/param_state.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <levin/trainer/core/state/state.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::optim {

/// What levin's optimizers share: a torch::optim::Optimizer with Python's state, for any LibTorch program.
///
/// On the CPU a step is one pass over the memory of parameters, gradients and state, wherever they lie; elsewhere
/// LibTorch's fused kernels are taken where it has them, and its _foreach operations where not. Parameters without a
/// gradient are left alone.
class Optimizer : public torch::optim::Optimizer {
 public:
  /// One step; returns what `closure`, run with gradients, returns. Throws levin::UsageError for sparse gradients where
  /// the optimizer does not take them.
  at::Tensor step(LossClosure closure = nullptr) final;

  /// Adds a group, with options of its own or with the defaults. Throws as the constructors.
  void add_param_group(const torch::optim::OptimizerParamGroup& group);

  /// Clips what the next step sees to this 2-norm over all groups, and returns the norm before, one element. On the CPU
  /// the gradients themselves stay as they are: that takes one pass over them, where clip_grad_norm_ takes two.
  at::Tensor clip_grad_norm(double max_norm);
  /// The next step, and no other, sees gradients times this.
  void set_gradient_multiplier(double multiplier) { gradient_multiplier_ = multiplier; }

  // --- steps that are captured in a graph of a GPU, and replayed ---

  /// Whether there can be such steps.
  virtual bool can_be_captured() const { return false; }
  /// Puts rates and counts on the device, where the next replay reads them; to be called before a capture too. False
  /// where other options have changed since the last call: what was captured before is of no use any more.
  bool prepare_replay();
  /// Between `begin_capture` and `end_capture` a step reads those numbers and counts nothing. It needs the state of
  /// steps that were made before; without one it throws levin::UsageError.
  void begin_capture() { capturing_ = true; }
  void end_capture() { capturing_ = false; }
  /// Within a capture: the steps change nothing where this, float32 [1], is not 0.
  void set_found_inf(const at::Tensor& found_inf);
  /// Counts a step that a replay has made.
  void count_replay();

  /// Whether what a step makes of an element depends on that element, its gradient and its state alone, and on how many
  /// steps there were: then parts of a parameter may be stepped apart.
  virtual bool is_elementwise() const { return false; }

  /// Drops the gradients, or fills them with zeros. LibTorch's own calls an operation for each parameter in both cases.
  void zero_grad(bool set_to_none = true);

  /// The state in the layout of Python's optimizer.state_dict(). Tensors share the optimizer's memory.
  State state_dict() const;
  /// Puts such a state, from here or from Python, into an optimizer of the same class over the same parameters. Tensors
  /// are copied and take device and dtype of their parameter. Throws levin::UsageError if groups, parameters or
  /// shapes do not fit; the optimizer is then unchanged.
  void load_state_dict(const State& state);
  /// The options of a group as they stand in that layout. Throws std::out_of_range.
  State group_state(size_t group) const;

  /// For torch::save and torch::load.
  void save(torch::serialize::OutputArchive& archive) const final;
  void load(torch::serialize::InputArchive& archive) final;

 protected:
  /// A parameter with a gradient, in a step.
  struct Member {
    const at::Tensor* parameter;
    at::Tensor gradient;
    ParamState* state;
  };
  using Members = std::vector<Member>;

  Optimizer(std::string name, const ParamGroups& groups, std::unique_ptr<torch::optim::OptimizerOptions> defaults);

  /// By how much gradients are multiplied in this step, where `maximize` is set with its sign.
  double gradient_multiplier() const { return gradient_multiplier_; }
  /// Of the group at hand in a step that is captured; null in all others.
  const CapturedNumbers* captured_numbers() const { return capturing_ ? &captured_[group_at_hand_].numbers : nullptr; }
  /// The gradient so multiplied.
  at::Tensor scaled_gradient(const Member& member) const;

  virtual StateNames state_names() const = 0;
  /// The state before the first step.
  virtual ParamState first_state(const torch::optim::OptimizerOptions& options, const Member& member) const = 0;
  /// Steps the parameters of one group that have dense gradients. `state->step` counts this step already.
  virtual void update(const torch::optim::OptimizerOptions& options, Members& members) = 0;
  /// The same for one with a sparse gradient, coalesced; throws unless overridden.
  virtual void update_sparse(const torch::optim::OptimizerOptions& options, Member& member);

 private:
  struct CapturedGroup {
    CapturedNumbers numbers = {};
    std::unique_ptr<torch::optim::OptimizerOptions> options = {};  ///< as they were captured
    double lr = 0;                                                 ///< on the device
  };
  void step_group(const torch::optim::OptimizerParamGroup& group);
  void check_shapes(const Member& member) const;

  std::string name_;
  double gradient_multiplier_ = 1;
  std::vector<CapturedGroup> captured_ = {};
  bool capturing_ = false;
  size_t group_at_hand_ = 0;
};

/// Adds a group to an optimizer of any class, with its own options. LibTorch's member of the same name is not virtual,
/// and gives groups of levin's optimizers the defaults. Throws as the constructors.
void add_param_group(torch::optim::Optimizer& optimizer, const torch::optim::OptimizerParamGroup& group);

}  // namespace levin::optim
