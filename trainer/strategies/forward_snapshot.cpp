#include <levin/trainer/strategies/forward_snapshot.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/device/rng_state.h>

namespace levin {

ForwardSnapshot::ForwardSnapshot(const LightningModule& module, const std::set<LoggedMetric*>& metrics)
    : rng_(rng_state()), buffers_(module.buffers()) {
  for (const at::Tensor& buffer : buffers_) values_.push_back(buffer.detach().clone());
  for (LoggedMetric* metric : metrics) metrics_.emplace_back(metric, metric->state_dict());
}

void ForwardSnapshot::restore() const {
  const at::NoGradGuard no_grad;
  load_rng_state(rng_);
  for (size_t i = 0; i < buffers_.size(); ++i) at::Tensor(buffers_[i]).copy_(values_[i]);
  for (const auto& [metric, state] : metrics_) metric->load_state_dict(state);
}

}  // namespace levin
