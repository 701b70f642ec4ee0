#pragma once
#include <levin/modules/observers/layer_names.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace at {
struct ObserverContext;
class Tensor;
}  // namespace at

namespace levin {

/// Looks at the result of each operation that the calling thread runs while the watch lives, and keeps the first one
/// with a NaN or an infinite element; minus infinity that masks are made of does not count. Much slower than the
/// operations alone (a host sync for each): for finding out what went wrong.
class FiniteWatch {
 public:
  /// With `gradients`, backward through the results is watched too; the first gradient counts that is not finite.
  explicit FiniteWatch(const torch::nn::Module& module, bool gradients = false);
  ~FiniteWatch();
  FiniteWatch(const FiniteWatch&) = delete;
  FiniteWatch& operator=(const FiniteWatch&) = delete;

  /// Returns the operation whose result was the first that is not finite, such as "layer net.1 (torch::nn::LinearImpl,
  /// weight [3, 5], bias [3]) was given [4, 7]", or "log of [4, 3], after layer net.1 (...)"; unset if all were finite.
  const std::optional<std::string>& first_output() const { return found_->output; }
  /// Returns the same of the first operation, in the order of backward, whose result got a gradient that is not finite.
  const std::optional<std::string>& first_gradient() const { return found_->gradient; }

 private:
  struct Found {
    std::optional<std::string> output = {}, gradient = {};
  };
  static std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& operation);
  static void ends(const at::RecordFunction& operation, at::ObserverContext* context);
  struct Operation;
  void see(const at::Tensor& result, const Operation& operation, bool counts);

  LayerNames layers_;
  bool gradients_;
  std::shared_ptr<Found> found_ = std::make_shared<Found>();  ///< hooks of tensors may live longer than the watch
  int64_t open_ = 0;                                          ///< operations that have begun and not ended
  std::string last_layer_ = {};
  FiniteWatch* outer_;
  uint64_t handle_;
};

/// Returns whether a tensor has only finite elements; true for one of integers, or an undefined one. Host sync.
bool is_finite(const at::Tensor& tensor);

}  // namespace levin
