#include <levin/core/run/logged_metric.h>
#include <levin/trainer/logging/metric_sink.h>

#include <algorithm>

namespace levin {
namespace {

/// A metric's value over all ranks is saved with its state: a resumed run may read the epoch before the metric is
/// logged again, if the epoch had its last batch or if the run ends at once.
double metric_value(const MetricAccumulator& logged, const std::optional<double>& over_ranks) {
  if (over_ranks) return *over_ranks;
  return logged.metric && logged.on_epoch ? logged.read_epoch("").value_or(0) : logged.value;
}

bool is_registered(const LoggedMetric& metric, const MetricSink::RegisteredMetrics& registered) {
  return std::ranges::any_of(registered, [&](const auto& known) { return known.second == &metric; });
}

/// Returns the state of a logged metric, or the name if it is registered.
State metric_state(const MetricAccumulator& logged, const MetricSink::RegisteredMetrics& registered) {
  if (!logged.metric) return {};
  for (const auto& [name, metric] : registered)
    if (metric == logged.metric.get()) return name;
  return logged.metric->state_dict();
}

/// `over_ranks`: the value of a metric over all ranks, if it was computed.
State state_of(const MetricAccumulator& logged, const MetricSink::RegisteredMetrics& registered,
               const std::optional<double>& over_ranks) {
  const auto tensor_or = [](const at::Tensor& on_device, double value) {
    return on_device.defined() ? State(on_device) : State(value);
  };
  return State::dict({{"value", tensor_or(logged.value_on_device, metric_value(logged, over_ranks))},
                      {"weight", logged.weight},
                      {"newest", tensor_or(logged.newest_on_device, logged.newest)},
                      {"newest_weight", logged.newest_weight},
                      {"newest_batch", logged.newest_batch},
                      {"fresh", logged.fresh},
                      {"on_step", logged.on_step},
                      {"on_epoch", logged.on_epoch},
                      {"prog_bar", logged.options.prog_bar},
                      {"logger", logged.options.logger},
                      {"add_dataloader_idx", logged.options.add_dataloader_idx},
                      {"reduce_fx", static_cast<int64_t>(logged.options.reduce_fx)},
                      {"metric", metric_state(logged, registered)},
                      {"restored_metrics", logged.restored_metrics ? State(*logged.restored_metrics) : State()}});
}

/// Returns the registered metric of that name, which the module owns; null if it no longer exists.
std::shared_ptr<LoggedMetric> find_registered(const std::string& name,
                                              const MetricSink::RegisteredMetrics& registered) {
  for (const auto& [known, metric] : registered)
    if (known == name) return {std::shared_ptr<void>(), metric};
  return nullptr;
}

/// `device`: the run's device.
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
  if (const State* weight = state.find("newest_weight")) logged.newest_weight = weight->to_double();
  if (const State* batch = state.find("newest_batch")) logged.newest_batch = batch->to_int();
  logged.fresh = state.at("fresh").to_bool();
  logged.on_step = state.at("on_step").to_bool();
  logged.on_epoch = state.at("on_epoch").to_bool();
  logged.options.prog_bar = state.at("prog_bar").to_bool();
  logged.options.logger = state.at("logger").to_bool();
  logged.options.add_dataloader_idx = state.at("add_dataloader_idx").to_bool();
  logged.options.reduce_fx = static_cast<ReduceFx>(state.at("reduce_fx").to_int());
  if (const State& metric = state.at("metric"); metric.is_string())
    logged.metric = find_registered(metric.to_string(), registered);
  else if (!metric.is_none())
    logged.restored_metrics.emplace({metric});
  if (const State* restored = state.find("restored_metrics"); restored != nullptr && !restored->is_none())
    logged.restored_metrics = restored->items();
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

std::map<std::string, double> MetricSink::values_over_ranks(const Table& table,
                                                            const RegisteredMetrics& registered) const {
  std::set<std::string> names = names_of(table);
  std::erase_if(names, [&](const std::string& name) {
    const LoggedMetric* const metric = table.accumulators.at(name).metric.get();
    return metric != nullptr && is_registered(*metric, registered);
  });
  return metrics_over_ranks(table, names);
}

State MetricSink::state_dict(const RegisteredMetrics& registered, bool inside_evaluation) const {
  const auto table_state = [&](const Table& table, bool has_values) {
    const auto over_ranks = has_values ? values_over_ranks(table, registered) : std::map<std::string, double>();
    State values = State::dict();
    for (const auto& [name, logged] : table.accumulators) {
      const auto known = over_ranks.find(name);
      values[name] =
          state_of(logged, registered, known == over_ranks.end() ? std::nullopt : std::optional(known->second));
    }
    return State::dict({{"suffix", table.suffix}, {"values", std::move(values)}});
  };
  State evaluation = State::list();
  for (const Table& table : evaluation_) evaluation.push_back(table_state(table, inside_evaluation));
  State of_evaluation = State::list();
  for (const std::string& name : of_evaluation_) of_evaluation.push_back(name);
  return State::dict({{"train", table_state(train_, true)},
                      {"evaluation", std::move(evaluation)},
                      {"of_evaluation", std::move(of_evaluation)},
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
  of_evaluation_.clear();
  if (const State* names = state.find("of_evaluation"))
    for (const State& name : names->items()) of_evaluation_.insert(name.to_string());
  all_ = metrics_in(state.at("all"));
  progress_bar_ = metrics_in(state.at("progress_bar"));
  table_ = &train_;
}

}  // namespace levin
