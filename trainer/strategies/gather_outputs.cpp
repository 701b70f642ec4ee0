#include <levin/trainer/strategies/gather_outputs.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>

namespace levin {
namespace {

double host_weight(const StepOutput& output, int64_t samples) {
  if (!output.loss.defined()) return 0;
  return output.weight ? *output.weight : static_cast<double>(samples);
}

StepOutput gather_by_host_weights(const std::vector<StepOutput>& outputs, const std::vector<int64_t>& samples,
                                  c10::Device device) {
  double total = 0;
  bool own_weights = false;
  StepOutput gathered;
  for (size_t i = 0; i < outputs.size(); ++i) {
    total += host_weight(outputs[i], samples[i]);
    own_weights |= outputs[i].weight.has_value() || !outputs[i].loss.defined();
    if (!gathered.loss.defined() && outputs[i].loss.defined()) gathered.loss = outputs[i].loss.to(device);
  }
  if (!gathered.loss.defined()) return {};
  if (own_weights) gathered.weight = total;
  if (total == 0) return gathered;
  at::Tensor sum;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const double weight = host_weight(outputs[i], samples[i]);
    if (weight == 0) continue;
    const at::Tensor part = outputs[i].loss.to(device, /*non_blocking=*/true) * (weight / total);
    sum = sum.defined() ? sum + part : part;
  }
  gathered.loss = sum;
  return gathered;
}

StepOutput gather_by_device_weights(const std::vector<StepOutput>& outputs, const std::vector<int64_t>& samples,
                                    c10::Device device) {
  std::vector<at::Tensor> weights(outputs.size());
  at::Tensor total, sum;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const StepOutput& output = outputs[i];
    if (!output.loss.defined()) continue;
    weights[i] = output.weight_tensor.defined()
                     ? output.weight_tensor.detach().to(device, at::kDouble, /*non_blocking=*/true).reshape({})
                     : at::scalar_tensor(host_weight(output, samples[i]), at::dtype(at::kDouble).device(device));
    total = total.defined() ? total + weights[i] : weights[i];
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!weights[i].defined()) continue;
    const at::Tensor loss = outputs[i].loss.to(device, /*non_blocking=*/true);
    const at::Tensor part = loss * (weights[i] / total).to(loss.scalar_type());
    sum = sum.defined() ? sum + part : part;
  }
  return {sum, total};
}

}  // namespace

StepOutput gather_outputs(const std::vector<StepOutput>& outputs, const std::vector<int64_t>& samples,
                          c10::Device device) {
  const bool on_device = std::any_of(outputs.begin(), outputs.end(), [](const StepOutput& output) {
    return output.loss.defined() && output.weight_tensor.defined();
  });
  return on_device ? gather_by_device_weights(outputs, samples, device)
                   : gather_by_host_weights(outputs, samples, device);
}

}  // namespace levin
