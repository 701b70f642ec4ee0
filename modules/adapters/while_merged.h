#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/adapters/lora.h>

#include <utility>
#include <vector>

namespace levin::adapters {

/// While it lives, the weights of a module's adapted layers are those that merge_adapters makes, and the adapters take
/// no part: for code that writes weights. The module must not compute meanwhile in another thread.
class WhileMerged {
 public:
  explicit WhileMerged(const torch::nn::Module& module);
  ~WhileMerged();
  WhileMerged(const WhileMerged&) = delete;
  WhileMerged& operator=(const WhileMerged&) = delete;

 private:
  WhileMerged() = default;

  std::vector<std::pair<AdaptedLayer, at::Tensor>> before_ = {};  ///< the weights as they are held
};

}  // namespace levin::adapters
