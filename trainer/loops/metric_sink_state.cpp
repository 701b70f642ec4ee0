#include <levin/trainer/core/logged_metric.h>
#include <levin/trainer/loops/metric_sink.h>

namespace levin {
namespace {

/// A metric's value is kept beside its state: a run that is continued behind an epoch's last batch reads it before
/// anybody has logged the metric again.
double metric_value(const MetricAccumulator& logged) {
  return logged.metric && logged.on_epoch ? logged.read_epoch("").value_or(0) : logged.value;
}

/// The state of what was logged, or the name of a registered metric.
State metric_state(const MetricAccumulator& logged, const MetricSink::RegisteredMetrics& registered) {
  if (!logged.metric) return logged.restored_metric;
  for (const auto& [name, metric] : registered)
    if (metric == logged.metric.get()) return name;
  return logged.metric->state_dict();
}

State state_of(const MetricAccumulator& logged, const MetricSink::RegisteredMetrics& registered) {
  const auto tensor_or = [](const at::Tensor& on_device, double value) {
    return on_device.defined() ? State(on_device) : State(value);
  };
  return State::dict({{"value", tensor_or(logged.value_on_device, metric_value(logged))},
                      {"weight", logged.weight},
                      {"newest", tensor_or(logged.newest_on_device, logged.newest)},
                      {"fresh", logged.fresh},
                      {"on_step", logged.on_step},
                      {"on_epoch", logged.on_epoch},
                      {"prog_bar", logged.options.prog_bar},
                      {"logger", logged.options.logger},
                      {"add_dataloader_idx", logged.options.add_dataloader_idx},
                      {"reduce_fx", static_cast<int64_t>(logged.options.reduce_fx)},
                      {"metric", metric_state(logged, registered)}});
}

/// The metric of that name, which the module keeps; null where there is no such any more.
std::shared_ptr<LoggedMetric> find_registered(const std::string& name,
                                              const MetricSink::RegisteredMetrics& registered) {
  for (const auto& [known, metric] : registered)
    if (known == name) return {std::shared_ptr<void>(), metric};
  return nullptr;
}

/// `device`: where the run's values are.
void load_state(MetricAccumulator& logged, const State& state, c10::Device device,
                const MetricSink::RegisteredMetrics& registered) {
  const auto load = [&](const char* key, at::Tensor& on_device, double& value) {
    const State& saved = state.at(key);
    if (saved.is_tensor())
      on_device = saved.to_tensor().to(device);
    else
      value = saved.to_double();
  };
  load("value", logged.value_on_device, logged.value);
  load("newest", logged.newest_on_device, logged.newest);
  logged.weight = state.at("weight").to_double();
  logged.fresh = state.at("fresh").to_bool();
  logged.on_step = state.at("on_step").to_bool();
  logged.on_epoch = state.at("on_epoch").to_bool();
  logged.options.prog_bar = state.at("prog_bar").to_bool();
  logged.options.logger = state.at("logger").to_bool();
  logged.options.add_dataloader_idx = state.at("add_dataloader_idx").to_bool();
  logged.options.reduce_fx = static_cast<ReduceFx>(state.at("reduce_fx").to_int());
  if (const State& metric = state.at("metric"); metric.is_string())
    logged.metric = find_registered(metric.to_string(), registered);
  else
    logged.restored_metric = metric;
}

State state_of(const Metrics& values) {
  State state = State::dict();
  for (const auto& [name, value] : values) state[name] = value;
  return state;
}

Metrics metrics_in(const State& state) {
  Metrics values;
  for (const auto& [name, value] : state.to_dict()) values[to_text(name)] = value.to_double();
  return values;
}

}  // namespace

State MetricSink::state_dict(const RegisteredMetrics& registered) const {
  const auto table_state = [&](const Table& table) {
    State values = State::dict();
    for (const auto& [name, logged] : table.accumulators) values[name] = state_of(logged, registered);
    return State::dict({{"suffix", table.suffix}, {"values", std::move(values)}});
  };
  State evaluation = State::list();
  for (const Table& table : evaluation_) evaluation.push_back(table_state(table));
  return State::dict({{"train", table_state(train_)},
                      {"evaluation", std::move(evaluation)},
                      {"all", state_of(all_)},
                      {"progress_bar", state_of(progress_bar_)}});
}

void MetricSink::load_state_dict(const State& state, const RegisteredMetrics& registered) {
  const auto load_table = [&](Table& table, const State& saved) {
    table.suffix = saved.at("suffix").to_string();
    table.accumulators.clear();
    for (const auto& [name, values] : saved.at("values").to_dict())
      load_state(table.accumulators[to_text(name)], values, device_, registered);
  };
  load_table(train_, state.at("train"));
  evaluation_.clear();
  for (const State& saved : state.at("evaluation").items()) load_table(evaluation_.emplace_back(), saved);
  all_ = metrics_in(state.at("all"));
  progress_bar_ = metrics_in(state.at("progress_bar"));
  table_ = &train_;
}

}  // namespace levin
