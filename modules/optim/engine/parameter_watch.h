#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin::optim {

/// Detects changes of the parameters of optimizers: groups may be added, tensors replaced and rows changed between two
/// steps.
class ParameterWatch {
 public:
  enum class Sees {
    Tensors,            ///< which tensors the groups hold, and where their values lie
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
  struct Seen {
    at::Tensor tensor;
    bool required_grad;
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  ///< another one if rows were changed
  };
  struct Watched {
    const torch::optim::Optimizer* optimizer;
    std::vector<Seen> parameters;
  };
  void add(const torch::optim::Optimizer& optimizer);
  bool is_as_before(const Watched& watched) const;
  static void look_at(Watched& watched);

  std::vector<Watched> watched_ = {};
  Sees sees_ = Sees::Tensors;
};

}  // namespace levin::optim
