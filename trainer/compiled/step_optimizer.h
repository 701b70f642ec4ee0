#pragma once
#include <levin/modules/optim/optimizer.h>
#include <levin/trainer/compiled/step_trace.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace levin::compiled {

/// The optimizer of a compiled step that also makes the optimizer's step: levin's SGD, Adam or AdamW.
///
/// The options are constants of the code; the learning rate and the numbers that follow the count of steps are inputs.
/// The first step of each parameter is eager, because it makes the optimizer's state.
class StepOptimizer {
 public:
  /// `optimizer` must outlive the object. Throws levin::UsageError, which says why, for another optimizer, and if it
  /// steps other tensors than the parameters among `inputs`.
  StepOptimizer(torch::optim::Optimizer& optimizer, const std::vector<StepInput>& inputs);

  /// Returns {"class": "Adam", "groups": [{"options": {...}, "parameters": [places in the inputs]}]}, of the options as
  /// they are now, without learning rates.
  nlohmann::json describe() const;
  /// Sets which inputs are stepped: those with a gradient.
  void set_stepped(const std::vector<size_t>& inputs);

  /// Returns why the code cannot make the next step of the optimizer; empty if it can. `as_compiled`: what `describe`
  /// returned when the step was compiled.
  std::string why_not(const nlohmann::json& as_compiled);
  /// Returns the code's further inputs for the next step. For each group: float64 [3], which is {lr} of SGD and
  /// {step size, correction of the root, factor of the parameter} of Adam; then for each stepped parameter the tensors
  /// of its state, which the code writes.
  std::vector<at::Tensor> inputs();
  /// Counts a step that the code made.
  void count();

  optim::Optimizer& optimizer() { return optimizer_; }

 private:
  struct Member {
    size_t input = 0;
    at::Tensor parameter = {};
    bool is_stepped = false;
  };
  struct Group {
    std::vector<Member> members = {};
    at::Tensor numbers = {};
    std::unique_ptr<torch::optim::OptimizerOptions> checked = {};  ///< options that are as compiled
  };
  torch::optim::OptimizerOptions& options(size_t group) const;
  optim::ParamState* state_of(const Member& member) const;
  /// Returns how many tensors of the state the code takes.
  size_t state_size(size_t group) const;
  std::string why_no_state(size_t group) const;
  bool is_as_compiled(const nlohmann::json& as_compiled);
  void write_numbers(size_t group);

  optim::Optimizer& optimizer_;
  std::string class_;
  std::vector<Group> groups_ = {};
};

}  // namespace levin::compiled
