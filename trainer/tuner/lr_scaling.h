#pragma once
#include <cstdint>
#include <string>

namespace levin {

/// The rule by which the learning rate scales with the batch size.
enum class LRScalingRule {
  Linear,  ///< proportional to the batch size; Goyal et al., "Accurate, Large Minibatch SGD",
           ///< https://arxiv.org/abs/1706.02677
  Sqrt     ///< proportional to its square root; Krizhevsky, "One weird trick", https://arxiv.org/abs/1404.5997
};

/// Parses "linear" or "sqrt". Throws levin::UsageError for another text.
LRScalingRule lr_scaling_rule(const std::string& name);

/// Returns the rate for `batch_size`, given `lr` for `base_batch_size`. Throws levin::UsageError for sizes below 1.
double scale_lr(double lr, int64_t batch_size, int64_t base_batch_size, LRScalingRule rule = LRScalingRule::Linear);

}  // namespace levin
