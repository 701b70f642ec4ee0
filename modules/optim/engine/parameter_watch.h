#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin::optim {

/// Sees whether optimizers have got other parameters: groups may be added and tensors exchanged between two steps.
class ParameterWatch {
 public:
  enum class Sees {
    Tensors,            ///< which tensors the groups hold
    TensorsAndFreezing  ///< and which of them require gradients
  };
  /// Of no optimizer.
  ParameterWatch() = default;
  /// The optimizers must live as long as the watch is asked.
  explicit ParameterWatch(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers);
  ParameterWatch(const torch::optim::Optimizer& optimizer, Sees sees);

  /// Whether something is other than at the last call; at the first one, than when the watch was made. Throws
  /// levin::UsageError where an optimizer has got a parameter twice.
  bool has_changed();

 private:
  struct Watched {
    const torch::optim::Optimizer* optimizer;
    std::vector<std::pair<at::Tensor, bool>> parameters;  ///< with whether they required gradients
  };
  void add(const torch::optim::Optimizer& optimizer);
  bool is_as_before(const Watched& watched) const;
  static void look_at(Watched& watched);

  std::vector<Watched> watched_ = {};
  Sees sees_ = Sees::Tensors;
};

}  // namespace levin::optim
