#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin::optim {

/// Detects changes of the parameters of optimizers: groups may be added and tensors replaced between two steps.
class ParameterWatch {
 public:
  enum class Sees {
    Tensors,            ///< which tensors the groups hold
    TensorsAndFreezing  ///< and which of them require gradients
  };
  /// Watches no optimizer.
  ParameterWatch() = default;
  /// The optimizers must outlive the watch's last call.
  explicit ParameterWatch(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers);
  ParameterWatch(const torch::optim::Optimizer& optimizer, Sees sees);

  /// Returns whether anything changed since the last call, or since construction. Throws levin::UsageError if an
  /// optimizer has a duplicate parameter.
  bool has_changed();

 private:
  struct Watched {
    const torch::optim::Optimizer* optimizer;
    std::vector<std::pair<at::Tensor, bool>> parameters;  ///< parameters, and whether they required gradients
  };
  void add(const torch::optim::Optimizer& optimizer);
  bool is_as_before(const Watched& watched) const;
  static void look_at(Watched& watched);

  std::vector<Watched> watched_ = {};
  Sees sees_ = Sees::Tensors;
};

}  // namespace levin::optim
