#pragma once
#include <levin/trainer/options/option_values.h>

#include <cstdint>

namespace levin {

/// Returns the rate for `batch_size`, given `lr` for `base_batch_size`. Throws levin::UsageError for sizes below 1.
double scale_lr(double lr, int64_t batch_size, int64_t base_batch_size, LRScalingRule rule = LRScalingRule::Linear);

}  // namespace levin
