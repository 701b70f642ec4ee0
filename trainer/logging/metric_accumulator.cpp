#include <levin/trainer/logging/metric_accumulator.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/run/logged_metric.h>
#include <levin/core/system/error.h>
#include <levin/trainer/logging/cpu_scalar.h>

#include <algorithm>
#include <utility>

namespace levin {
namespace {

at::Tensor combine(const at::Tensor& sum, const at::Tensor& value, ReduceFx reduce) {
  switch (reduce) {
    case ReduceFx::Min:
      return at::minimum(sum, value);
    case ReduceFx::Max:
      return at::maximum(sum, value);
    default:
      return sum + value;
  }
}

double combine(double sum, double value, ReduceFx reduce) {
  switch (reduce) {
    case ReduceFx::Min:
      return std::min(sum, value);
    case ReduceFx::Max:
      return std::max(sum, value);
    default:
      return sum + value;
  }
}

}  // namespace

void check_one_element(const std::string& name, const at::Tensor& value) {
  if (!value.defined()) throw UsageError("log('", name, "'): the tensor is undefined");
  if (value.numel() != 1)
    throw UsageError("log('", name, "'): expected one element, got shape ", value.sizes(), "; log its mean() or sum()");
}

double read_value(const std::string& name, const LoggedMetric& metric) {
  const at::Tensor value = metric.compute();
  check_one_element(name, value);
  return value.item<double>();  // host sync
}

void MetricAccumulator::mark_newest(double sample_weight, int64_t batch, bool weighs_as_batch) {
  newest_weight = sample_weight;
  newest_batch = batch;
  newest_weighs_as_batch_ = weighs_as_batch;
  fresh = true;
}

MetricAccumulator::OfBatch& MetricAccumulator::part_of(int64_t batch) {
  if (of_batch_.number != batch)
    of_batch_ = {
        .number = batch, .value_before = value, .weight_before = weight, .value_on_device_before = value_on_device};
  return of_batch_;
}

void MetricAccumulator::add(double logged, double sample_weight, int64_t batch, bool weighs_as_batch) {
  newest = logged;
  newest_on_device = at::Tensor();
  mark_newest(sample_weight, batch, weighs_as_batch);
  if (!on_epoch) return;
  const bool is_mean = options.reduce_fx == ReduceFx::Mean;
  const double weighted = is_mean ? logged * sample_weight : logged;
  if (is_mean) {
    OfBatch& part = part_of(batch);
    if (weighs_as_batch) {
      part.sum += logged;
      part.count += 1;
    } else {
      part.value_before += weighted;
      part.weight_before += sample_weight;
    }
  }
  value = weight == 0 ? weighted : combine(value, weighted, options.reduce_fx);
  weight += sample_weight;
}

void MetricAccumulator::add(const at::Tensor& logged, double sample_weight, int64_t batch, bool weighs_as_batch) {
  if (logged.is_cpu()) return add(read_cpu_scalar(logged), sample_weight, batch, weighs_as_batch);
  const at::NoGradGuard no_grad;
  newest_on_device = logged.detach().reshape({});
  mark_newest(sample_weight, batch, weighs_as_batch);
  if (!on_epoch) return;
  const auto added = [](const at::Tensor& sum, const at::Tensor& more) { return sum.defined() ? sum + more : more; };
  at::Tensor weighted = newest_on_device.to(at::kDouble);
  if (options.reduce_fx == ReduceFx::Mean) {
    OfBatch& part = part_of(batch);
    if (weighs_as_batch) {
      part.sum_on_device = added(part.sum_on_device, weighted);
      part.count += 1;
    }
    weighted = weighted * sample_weight;
    if (!weighs_as_batch) {
      part.value_on_device_before = added(part.value_on_device_before, weighted);
      part.weight_before += sample_weight;
    }
  }
  value_on_device = value_on_device.defined() ? combine(value_on_device, weighted, options.reduce_fx) : weighted;
  weight += sample_weight;
}

void MetricAccumulator::reweigh(double batch_weight, int64_t batch) {
  if (newest_batch == batch && newest_weighs_as_batch_) newest_weight = batch_weight;
  if (of_batch_.number != batch || of_batch_.count == 0) return;
  weight = of_batch_.weight_before + of_batch_.count * batch_weight;
  if (!of_batch_.sum_on_device.defined()) {
    value = of_batch_.value_before + of_batch_.sum * batch_weight;
    return;
  }
  const at::NoGradGuard no_grad;
  const at::Tensor& before = of_batch_.value_on_device_before;
  const at::Tensor own = of_batch_.sum_on_device * batch_weight;
  value_on_device = before.defined() ? before + own : own;
}

void MetricAccumulator::add(const std::string& name, const std::shared_ptr<LoggedMetric>& logged, double sample_weight,
                            int64_t batch) {
  metric = logged;
  weight = 1;
  if (const auto restored = std::exchange(restored_metrics, std::nullopt))
    for (auto earlier = restored->rbegin(); earlier != restored->rend(); ++earlier)
      metric->prepend_state_dict(*earlier);
  if (!on_step) return;
  const at::Tensor of_batch = metric->batch_value();
  if (!of_batch.defined())
    throw UsageError("log('", name,
                     "') with on_step: the metric has no value of this batch; count the batch with "
                     "metric(preds, target) in place of metric.update(preds, target)");
  check_one_element(name, of_batch);
  if (of_batch.is_cpu())
    newest = read_cpu_scalar(of_batch);
  else
    newest_on_device = of_batch.reshape({});
  mark_newest(sample_weight, batch, /*weighs_as_batch=*/false);
}

double MetricAccumulator::read_newest() const {
  return newest_on_device.defined() ? newest_on_device.item<double>() : newest;  // host sync
}

std::optional<double> MetricAccumulator::read_epoch(const std::string& name) const {
  if (weight == 0) return {};
  if (metric) return read_value(name, *metric);
  if (restored_metrics) return value;
  const double reduced = value_on_device.defined() ? value_on_device.item<double>() : value;  // host sync
  return options.reduce_fx == ReduceFx::Mean ? reduced / weight : reduced;
}

void MetricAccumulator::reset_epoch() {
  value = weight = 0;
  value_on_device = at::Tensor();
  of_batch_ = {};
  restored_metrics.reset();
  if (metric) metric->reset();
}

}  // namespace levin
