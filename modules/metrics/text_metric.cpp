#include <levin/modules/metrics/text_metric.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>

namespace levin::metrics {
namespace {

std::vector<std::vector<std::string>> one_each(const std::vector<std::string>& target) {
  std::vector<std::vector<std::string>> targets;
  for (const std::string& text : target) targets.push_back({text});
  return targets;
}

}  // namespace

TextMetric::TextMetric(const char* metric, size_t counts)
    : metric_(metric),
      number_of_counts_(counts),
      counts_(add_state("counts", {static_cast<int64_t>(counts)}, at::kDouble)) {}

at::Tensor TextMetric::counts_of(const std::vector<std::string>& preds,
                                 const std::vector<std::vector<std::string>>& targets) const {
  if (preds.size() != targets.size())
    throw UsageError(metric_, ": expected a target for each of ", preds.size(), " texts, got ", targets.size());
  std::vector<double> counts(number_of_counts_, 0.0);
  for (size_t i = 0; i < preds.size(); ++i) {
    if (targets[i].empty()) throw UsageError(metric_, ": text ", i, " has no target");
    add({.pred = preds[i], .targets = targets[i]}, counts);
  }
  return at::tensor(counts, at::kDouble);
}

void TextMetric::update(const std::vector<std::string>& preds, const std::vector<std::string>& target) {
  update(preds, one_each(target));
}

void TextMetric::update(const std::vector<std::string>& preds, const std::vector<std::vector<std::string>>& targets) {
  Metric::update(counts_of(preds, targets).to(device()));
}

at::Tensor TextMetric::forward(const std::vector<std::string>& preds, const std::vector<std::string>& target) {
  return Metric::forward(counts_of(preds, one_each(target)).to(device()));
}

void TextMetric::update_inputs(at::TensorList inputs) {
  if (inputs.size() != 1 || inputs[0].scalar_type() != at::kDouble || inputs[0].sizes() != sum(counts_).sizes())
    throw UsageError(metric_, ": expected texts, got tensors");
  sum(counts_).add_(inputs[0]);
}

at::Tensor TextMetric::compute_value() const {
  const at::Tensor counts = sum(counts_).cpu();
  const double* first = counts.const_data_ptr<double>();
  return at::scalar_tensor(value(std::vector<double>(first, first + counts.numel())),
                           at::TensorOptions(at::kDouble).device(device()));
}

}  // namespace levin::metrics
