#pragma once
#include <ATen/core/Tensor.h>
#include <levin/trainer/core/state/state.h>

#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin::optim {

/// Float32 copies of an optimizer's parameters of 16 bit, which it steps in their place, so that small steps are not
/// rounded away:
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
class MasterWeights {
 public:
  /// Puts the copies into the groups of `optimizer`; its state is kept, in float32. Throws levin::UsageError if it
  /// has state of a kind that optimizer_state_dict does not know. It must outlive this; groups may be added to it,
  /// whose copies are made by the next call.
  explicit MasterWeights(torch::optim::Optimizer& optimizer);

  /// Drops the gradients of module and copies.
  void zero_grad();
  /// The gradients of the module's parameters, in float32, become those of the copies.
  void take_gradients();
  /// The module's parameters become the copies, rounded.
  void write_back();
  /// The copies become the module's parameters, where those were loaded from elsewhere.
  void read_module();

  /// The copies, in the order of the optimizer's parameters; tensors share memory.
  State state_dict() const;
  /// Puts such a state back. Throws levin::UsageError if numbers or shapes of the tensors do not fit.
  void load_state_dict(const State& state);

 private:
  struct Pair {
    at::Tensor of_module, copy;
  };
  void follow();

  torch::optim::Optimizer& optimizer_;
  std::vector<Pair> pairs_ = {};
};

}  // namespace levin::optim
