#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/state.h>
#include <levin/modules/optim/engine/found_by_optimizer.h>
#include <levin/modules/optim/engine/row_change.h>

#include <functional>
#include <utility>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin::optim {

/// Float32 master copies of an optimizer's 16-bit parameters: the optimizer steps the copies, so that small updates are
/// not rounded away:
///
///     net->to(at::kHalf);
///     levin::optim::Adam optimizer(net->parameters());
///     levin::optim::MasterWeights masters(optimizer);
///     for (...) {
///       masters.zero_grad();
///       scaler.scale(loss).backward();
///       masters.take_gradients();
///       if (scaler.step(optimizer)) masters.write_back();
///       scaler.update();
///     }
///
/// Source: Micikevicius et al., Mixed Precision Training, 2018, https://arxiv.org/abs/1710.03740
class MasterWeights : public detail::FoundByOptimizer<MasterWeights> {
 public:
  /// Replaces the parameters in the groups of `optimizer` by the copies and converts its state to float32. Throws
  /// levin::UsageError if the optimizer has state that optimizer_state_dict does not support. The optimizer must
  /// outlive this object. Groups may be added to the optimizer later; the next call makes their copies.
  explicit MasterWeights(torch::optim::Optimizer& optimizer);
  MasterWeights(MasterWeights&& other) : MasterWeights(std::move(other), detail::RowLock()) {}

  /// Drops the gradients of the module's parameters and of the copies.
  void zero_grad();
  /// Moves the gradients of the module's parameters, converted to float32, to the copies.
  void take_gradients();
  /// Writes the copies, rounded, to the module's parameters.
  void write_back();
  /// Reads the copies from the module's parameters, after these were loaded from elsewhere.
  void read_module();

  /// Calls `visit` for each of the module's parameters that has a copy.
  void for_each_copy(const std::function<void(const at::Tensor& parameter, const at::Tensor& copy)>& visit) const;

  /// Returns the copies, in the order of the optimizer's parameters; the tensors share memory.
  State state_dict() const;
  /// Restores the copies from a state that `state_dict` returned. Throws levin::UsageError if the number or the shapes
  /// of the tensors do not match.
  void load_state_dict(const State& state);

 private:
  struct Pair {
    at::Tensor of_module, copy;
  };
  friend class detail::RowSubscription;
  MasterWeights(MasterWeights&& other, const detail::RowLock& lock);
  void follow();
  bool has_rows_of(const at::Tensor& parameter) const;
  void prepare(const at::Tensor& parameter, const detail::RowChange& change, detail::RowCommit& commit);

  torch::optim::Optimizer& optimizer_;
  std::vector<Pair> pairs_ = {};
  detail::RowSubscription rows_{*this};
};

}  // namespace levin::optim
