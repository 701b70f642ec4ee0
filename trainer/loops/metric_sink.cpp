#include <levin/trainer/loops/metric_sink.h>
#include <levin/data/batch.h>
#include <levin/trainer/core/comm.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/logged_metric.h>

#include <map>
#include <set>
#include <utility>

namespace levin {

void MetricSink::set_comm(Comm& comm, c10::Device device) {
  comm_ = &comm;
  device_ = device;
}

void MetricSink::use_train_table() { table_ = &train_; }

void MetricSink::use_evaluation_table(int64_t dataloader_idx, bool suffixed) {
  const auto index = static_cast<size_t>(dataloader_idx);
  while (evaluation_.size() <= index) {
    const std::string number = std::to_string(evaluation_.size());
    evaluation_.push_back({suffixed ? "/dataloader_idx_" + number : "", {}});
  }
  table_ = &evaluation_[index];
}

void MetricSink::set_batch(const Batch* batch, bool on_step_by_default) {
  batch_ = batch;
  batch_size_ = -1;
  on_step_by_default_ = on_step_by_default;
}

double MetricSink::sample_weight(const LogOptions& options) {
  if (options.batch_size) return static_cast<double>(*options.batch_size);
  if (batch_ == nullptr) return 1;
  if (batch_size_ < 0) batch_size_ = static_cast<double>(batch_->size());
  return batch_size_;
}

MetricAccumulator& MetricSink::accumulator(const std::string& name, const LogOptions& options) {
  MetricAccumulator& found = table_->accumulators[name];
  const bool on_step = options.on_step.value_or(on_step_by_default_);
  const bool on_epoch = options.on_epoch.value_or(!on_step_by_default_);
  if (!found.declared) {
    found.options = options;
    found.on_step = on_step;
    found.on_epoch = on_epoch;
    found.declared = true;
  } else if (found.on_step != on_step || found.on_epoch != on_epoch || found.options.reduce_fx != options.reduce_fx) {
    throw UsageError("log('", name, "') was called before with other on_step, on_epoch or reduce_fx; use another name");
  }
  return found;
}

void MetricSink::log(const std::string& name, const at::Tensor& value, const LogOptions& options) {
  if (!enabled_) return;
  check_one_element(name, value);
  accumulator(name, options).add(value, sample_weight(options));
}

void MetricSink::log(const std::string& name, double value, const LogOptions& options) {
  if (!enabled_) return;
  accumulator(name, options).add(value, sample_weight(options));
}

void MetricSink::log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, const LogOptions& options) {
  if (!metric) throw UsageError("log('", name, "'): the metric is null");
  if (!enabled_) return metric->reset();  // nobody would read what it counted, and the next batch counts on
  if (options.reduce_fx != ReduceFx::Mean)
    throw UsageError("log('", name, "'): a metric reduces itself; leave reduce_fx unset");
  LogOptions filled = options;
  filled.on_step = options.on_step.value_or(false);
  filled.on_epoch = options.on_epoch.value_or(true);
  check_one_loader(name, *metric);
  accumulator(name, filled).add(name, metric);
}

void MetricSink::check_one_loader(const std::string& name, const LoggedMetric& metric) const {
  for (const Table& table : evaluation_) {
    if (&table == table_ || table_ == &train_) continue;
    for (const auto& [other, logged] : table.accumulators)
      if (logged.metric.get() == &metric && logged.weight != 0)
        throw UsageError("log('", name, "'): the metric counts the batches of another loader already (as '", other,
                         table.suffix, "'); use one metric for each loader");
  }
}

void MetricSink::show(const MetricAccumulator& accumulator, const std::string& name, double value) {
  all_[name] = value;
  if (accumulator.options.prog_bar) progress_bar_[name] = value;
}

std::pair<std::string, double> MetricSink::show_step(const Table& table, const std::string& name,
                                                     MetricAccumulator& metric) {
  metric.fresh = false;
  const double value = metric.read_newest();
  const std::string shown = name + (metric.on_epoch ? "_step" : "") + table.suffix;
  show(metric, shown, value);
  if (metric.on_epoch) all_[name + table.suffix] = value;
  return {shown, value};
}

Metrics MetricSink::read_step() {
  Metrics values;
  for (auto& [name, metric] : table_->accumulators) {
    if (!metric.on_step || !metric.fresh) continue;
    const auto shown = show_step(*table_, name, metric);
    if (metric.options.logger) values.insert(shown);
  }
  return values;
}

void MetricSink::sync_metrics(Table& table) {
  if (comm_ == nullptr || comm_->world_size() == 1) return;
  // By name: all ranks must ask in the same order.
  std::map<std::string, LoggedMetric*> by_name;
  for (const auto& [name, logged] : table.accumulators)
    if (logged.metric && logged.on_epoch) by_name[name] = logged.metric.get();
  std::set<const LoggedMetric*> synced;
  for (const auto& [name, metric] : by_name) {
    if (!synced.insert(metric).second) continue;
    metric->to(device_);
    metric->sync(*comm_);
  }
}

Metrics MetricSink::read_epoch(Table& table, Metrics* for_loader) {
  Metrics values;
  sync_metrics(table);
  for (auto& [name, metric] : table.accumulators) {
    if (metric.on_step && metric.fresh) show_step(table, name, metric);
    if (!metric.on_epoch) continue;
    const std::optional<double> value = metric.read_epoch(name);
    if (!value) continue;
    const std::string plain = name + (metric.options.add_dataloader_idx ? table.suffix : "");
    const std::string shown = metric.on_step ? name + "_epoch" + table.suffix : plain;
    show(metric, shown, *value);
    all_[plain] = *value;
    if (metric.options.logger) values[shown] = *value;
    if (for_loader != nullptr) (*for_loader)[shown] = *value;
  }
  // After all are read: a metric may be logged under several names.
  for (auto& entry : table.accumulators) entry.second.reset_epoch();
  return values;
}

Metrics MetricSink::read_train_epoch() { return read_epoch(train_, nullptr); }

Metrics MetricSink::read_evaluation_epoch() {
  Metrics values;
  by_loader_.assign(evaluation_.size(), {});
  for (size_t i = 0; i < evaluation_.size(); ++i) values.merge(read_epoch(evaluation_[i], &by_loader_[i]));
  return values;
}

bool MetricSink::anything_to_read_each_evaluation_step() const {
  for (const auto& entry : table_->accumulators)
    if (entry.second.on_step) return true;
  return false;
}

std::optional<double> MetricSink::newest(const std::string& name) const {
  const auto look = [&](const Table& table) -> std::optional<double> {
    const auto found = table.accumulators.find(name);
    if (found == table.accumulators.end()) return {};
    const MetricAccumulator& metric = found->second;
    if (metric.on_epoch) return metric.read_epoch(name);
    if (metric.fresh) return metric.read_newest();
    return {};
  };
  if (const auto value = look(*table_)) return value;
  const auto known = all_.find(name);
  return known == all_.end() ? std::nullopt : std::optional(known->second);
}

void MetricSink::reset_metrics() {
  const auto reset = [](Table& table) {
    for (auto& [name, accumulator] : table.accumulators)
      if (accumulator.metric) accumulator.metric->reset();
  };
  reset(train_);
  for (Table& table : evaluation_) reset(table);
}

void MetricSink::forget_evaluation() {
  evaluation_.clear();
  by_loader_.clear();
  all_.clear();
  progress_bar_.clear();
  table_ = &train_;
}

}  // namespace levin
