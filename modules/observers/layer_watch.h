#pragma once
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace at {
class RecordFunction;
struct ObserverContext;
}  // namespace at

namespace levin {

/// Watches the operations of the calling thread while it lives, so that an error of LibTorch can name the layer in
/// which it came: the outermost operation that it left and that took a parameter of the module.
class LayerWatch {
 public:
  /// The module must outlive the watch.
  explicit LayerWatch(const torch::nn::Module& module);
  ~LayerWatch();
  LayerWatch(const LayerWatch&) = delete;
  LayerWatch& operator=(const LayerWatch&) = delete;

  /// Where the exception came that left an operation last, as in "layer net.1 (torch::nn::LinearImpl, weight [3, 5],
  /// bias [3]) was given [4, 7]", or "linear of [4, 7] and [3, 5]" for an operation without parameters of the module;
  /// nothing where none has.
  const std::optional<std::string>& failed() const { return failed_; }

  struct Layer {
    std::string name;
    const torch::nn::Module* module;
  };

 private:
  static std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& operation);
  static void ends(const at::RecordFunction& operation, at::ObserverContext* context);
  const Layer* layer_of(const at::Tensor& tensor) const;
  std::string described(const at::RecordFunction& operation) const;

  std::unordered_map<const void*, Layer> layer_of_data_ = {};
  std::optional<std::string> failed_ = {};
  int exceptions_before_;
  LayerWatch* outer_;
  uint64_t handle_;
};

}  // namespace levin
