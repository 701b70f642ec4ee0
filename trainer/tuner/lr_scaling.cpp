#include <levin/trainer/tuner/lr_scaling.h>
#include <levin/core/system/error.h>

#include <cmath>

namespace levin {

double scale_lr(double lr, int64_t batch_size, int64_t base_batch_size, LRScalingRule rule) {
  if (batch_size < 1 || base_batch_size < 1)
    throw UsageError("scale_lr: expected batch sizes of at least 1, got ", batch_size, " and ", base_batch_size);
  const double factor = static_cast<double>(batch_size) / static_cast<double>(base_batch_size);
  return lr * (rule == LRScalingRule::Linear ? factor : std::sqrt(factor));
}

}  // namespace levin
