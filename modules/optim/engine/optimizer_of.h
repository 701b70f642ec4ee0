#pragma once
#include <ATen/ops/zeros_like.h>
#include <levin/modules/optim/optimizer.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::optim {

/// The base class of an optimizer whose groups have `Options`, a struct with an `lr`. Override the names of the state,
/// the first state and the step of a group.
template <class OptionsOfGroups>
class OptimizerOf : public Optimizer {
 public:
  using Options = OptionsOfGroups;

 protected:
  OptimizerOf(std::string name, const ParamGroups& groups, Options defaults)
      : Optimizer(std::move(name), groups, std::make_unique<GroupOptions<Options>>(std::move(defaults))) {}

  virtual ParamState make_state(const Options& options, const Member& member) const = 0;
  virtual void update_group(const Options& options, Members& members) = 0;
  virtual void update_one_sparse(const Options& options, Member& member) {
    Optimizer::update_sparse(GroupOptions<Options>(options), member);
  }

 private:
  static const Options& typed(const torch::optim::OptimizerOptions& options) {
    return static_cast<const GroupOptions<Options>&>(options).options;
  }
  ParamState first_state(const torch::optim::OptimizerOptions& options, const Member& member) const final {
    return make_state(typed(options), member);
  }
  void update(const torch::optim::OptimizerOptions& options, Members& members) final {
    update_group(typed(options), members);
  }
  void update_sparse(const torch::optim::OptimizerOptions& options, Member& member) final {
    update_one_sparse(typed(options), member);
  }
};

namespace detail {

inline ParamState state_of(std::vector<at::Tensor> tensors, std::vector<double> numbers = {}) {
  ParamState state;
  state.tensors = std::move(tensors);
  state.numbers = std::move(numbers);
  return state;
}

inline at::Tensor zeros_for(const at::Tensor& parameter) {
  return at::zeros_like(parameter, at::MemoryFormat::Preserve);
}

}  // namespace detail
}  // namespace levin::optim
