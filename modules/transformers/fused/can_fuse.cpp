#include <ATen/autocast_mode.h>
#include <levin/modules/recording/is_recording.h>
#include <levin/modules/transformers/fused/fused_operators.h>

namespace levin::nn::fused {

bool can_fuse(const at::Tensor& x) {
  return x.is_cpu() && x.layout() == at::kStrided && x.scalar_type() == at::kFloat && x.numel() > 0 &&
         !recording::is_recording() && !at::autocast::is_autocast_enabled(at::kCPU);
}

}  // namespace levin::nn::fused
