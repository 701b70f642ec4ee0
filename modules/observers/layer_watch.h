#pragma once
#include <levin/modules/observers/layer_names.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace at {
class RecordFunction;
struct ObserverContext;
}  // namespace at

namespace levin {

/// Watches the operations of the calling thread while it lives, so that the message of a LibTorch error can name the
/// layer that failed: the outermost operation that the exception left and that used a parameter of the module.
class LayerWatch {
 public:
  /// The module must outlive the watch.
  explicit LayerWatch(const torch::nn::Module& module);
  ~LayerWatch();
  LayerWatch(const LayerWatch&) = delete;
  LayerWatch& operator=(const LayerWatch&) = delete;

  /// Returns where the last exception that left an operation was thrown, such as "layer net.1 (torch::nn::LinearImpl,
  /// weight [3, 5], bias [3]) was given [4, 7]", or "linear of [4, 7] and [3, 5]" for an operation without parameters
  /// of the module; unset if no exception left an operation.
  const std::optional<std::string>& failed() const { return failed_; }

 private:
  static std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& operation);
  static void ends(const at::RecordFunction& operation, at::ObserverContext* context);

  LayerNames layers_;
  std::optional<std::string> failed_ = {};
  int exceptions_before_;
  LayerWatch* outer_;
  uint64_t handle_;
};

}  // namespace levin
