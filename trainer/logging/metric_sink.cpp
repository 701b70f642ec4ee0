#include <levin/trainer/logging/metric_sink.h>
#include <levin/core/ranks/comm.h>
#include <levin/core/run/logged_metric.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/batch_weight.h>

#include <utility>

namespace levin {
namespace {

Reading reading_of(const MetricAccumulator& metric, double value, double weight) {
  return {.value = value,
          .weight = weight,
          .reduce_fx = metric.options.reduce_fx,
          .prog_bar = metric.options.prog_bar,
          .logger = metric.options.logger,
          .add_dataloader_idx = metric.options.add_dataloader_idx,
          .on_step = metric.on_step,
          .on_epoch = metric.on_epoch};
}

/// Host sync if the value is on another device.
Reading step_reading(const MetricAccumulator& metric) {
  Reading reading = reading_of(metric, metric.read_newest(), metric.newest_weight);
  reading.batch = metric.newest_batch;
  return reading;
}

}  // namespace

bool MetricSink::has_other_ranks() const { return comm_ != nullptr && comm_->world_size() > 1; }

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

void MetricSink::enter_batch(const Batch& batch, int64_t number, bool on_step_by_default) {
  batch_ = &batch;
  batch_number_ = number;
  batch_size_ = -1;
  on_step_by_default_ = on_step_by_default;
}

void MetricSink::set_batch_weight(double weight) {
  batch_size_ = weight;
  for (auto& [name, metric] : table_->accumulators) metric.reweigh(weight, batch_number_);
}

void MetricSink::leave_batch() {
  batch_ = nullptr;
  on_step_by_default_ = false;
}

double MetricSink::sample_weight(const LogOptions& options) {
  if (options.batch_size) return static_cast<double>(*options.batch_size);
  if (batch_ == nullptr) return 1;
  if (batch_size_ < 0) batch_size_ = static_cast<double>(weight_of_batch(*batch_));
  return batch_size_;
}

void MetricSink::warn_of_own_value(const std::string& name) {
  if (reported_.insert("sync_dist of " + name).second && comm_->is_global_zero())
    console::warn(
        "log('" + name +
        "'): sync_dist = false has no effect: what is logged is that of all ranks; keep this rank's own value "
        "in a member of the module");
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
    if (options.sync_dist == false && has_other_ranks()) warn_of_own_value(name);
  } else if (found.on_step != on_step || found.on_epoch != on_epoch || found.options.reduce_fx != options.reduce_fx) {
    throw UsageError("log('", name, "') was called before with other on_step, on_epoch or reduce_fx; use another name");
  }
  return found;
}

template <class Value>
void MetricSink::add(const std::string& name, const Value& value, const LogOptions& options) {
  MetricAccumulator& metric = accumulator(name, options);
  metric.add(value, sample_weight(options), batch_number_, /*weighs_as_batch=*/batch_ && !options.batch_size);
  if (!options.prog_bar || table_ != &train_ || has_other_ranks()) return;
  if (!metric.on_step || metric.newest_on_device.defined()) return;  // reading it would be a host sync
  progress_bar_[metric.on_epoch ? name + "_step" : name] = metric.newest;
}

void MetricSink::log(const std::string& name, const at::Tensor& value, const LogOptions& options) {
  if (!enabled_) return;
  check_one_element(name, value);
  add(name, value, options);
}

void MetricSink::log(const std::string& name, double value, const LogOptions& options) {
  if (enabled_) add(name, value, options);
}

void MetricSink::log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, const LogOptions& options) {
  if (!metric) throw UsageError("log('", name, "'): the metric is null");
  if (!enabled_) return metric->reset();  // its count is never read, and the next batch would add to it
  if (options.reduce_fx != ReduceFx::Mean)
    throw UsageError("log('", name, "'): a metric reduces itself; leave reduce_fx unset");
  LogOptions filled = options;
  filled.on_step = options.on_step.value_or(false);
  filled.on_epoch = options.on_epoch.value_or(true);
  check_one_loader(name, *metric);
  accumulator(name, filled).add(name, metric, sample_weight(options), batch_number_);
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

void MetricSink::show(const Reading& reading, const std::string& name, double value) {
  all_[name] = value;
  if (reading.prog_bar) progress_bar_[name] = value;
}

Readings MetricSink::merged(Readings own) const {
  if (!has_other_ranks()) return own;
  return merge_over_ranks(own, *comm_, reported_);
}

Readings MetricSink::fresh_steps(Table& table) {
  Readings readings;
  for (auto& [name, metric] : table.accumulators) {
    if (!metric.on_step || !metric.fresh) continue;
    metric.fresh = false;
    readings[name] = step_reading(metric);
  }
  return readings;
}

Metrics MetricSink::show_steps(const Table& table, const Readings& readings) {
  Metrics values;
  for (const auto& [name, reading] : readings) {
    const std::string shown = name + (reading.on_epoch ? "_step" : "") + table.suffix;
    show(reading, shown, reading.value);
    if (reading.on_epoch) all_[name + table.suffix] = reading.value;
    if (reading.logger) values[shown] = reading.value;
  }
  return values;
}

Metrics MetricSink::read_step() { return show_steps(*table_, merged(fresh_steps(*table_))); }

Metrics MetricSink::read_own_step() { return show_steps(*table_, fresh_steps(*table_)); }

std::map<std::string, double> MetricSink::metrics_over_ranks(const Table& table,
                                                             const std::set<std::string>& names) const {
  std::map<std::string, double> values;
  if (!has_other_ranks()) return values;
  CountedMetrics counted;
  std::set<std::string> own;
  for (const auto& [name, logged] : table.accumulators) {
    if (!names.contains(name) || !logged.on_epoch || logged.weight == 0) continue;
    if (logged.metric) {
      logged.metric->to(device_);
      counted.logged[name] = logged.metric.get();
      own.insert(name);
    } else if (logged.restored_metrics) {
      counted.restored[name] = *logged.restored_metrics;
    }
  }
  for (const std::string& name : names_of_all_ranks(own, *comm_)) {
    LoggedMetric& metric = *counted.logged.at(name);
    metric.sync(*comm_);
    values[name] = table.accumulators.at(name).read_epoch(name).value();
    metric.unsync();
    counted.logged.erase(name);
  }
  // The other metrics were not logged on ranks without samples.
  values.merge(values_of_some_ranks(counted, *comm_));
  return values;
}

std::set<std::string> MetricSink::names_of(const Table& table) {
  std::set<std::string> names;
  for (const auto& entry : table.accumulators) names.insert(entry.first);
  return names;
}

Metrics MetricSink::read_epoch(Table& table, Metrics* for_loader) {
  const std::map<std::string, double> over_ranks = metrics_over_ranks(table, names_of(table));
  show_steps(table, merged(fresh_steps(table)));
  Readings readings;
  for (auto& [name, metric] : table.accumulators) {
    if (!metric.on_epoch) continue;
    const auto known = over_ranks.find(name);
    const std::optional<double> value = known == over_ranks.end() ? metric.read_epoch(name) : known->second;
    if (!value) continue;
    readings[name] = reading_of(metric, *value, metric.weight);
  }
  Metrics values;
  for (const auto& [name, reading] : merged(std::move(readings))) {
    const std::string plain = name + (reading.add_dataloader_idx ? table.suffix : "");
    const std::string shown = reading.on_step ? name + "_epoch" + table.suffix : plain;
    show(reading, shown, reading.value);
    all_[plain] = reading.value;
    for (const std::string& set : {shown, plain})
      if (for_loader != nullptr)
        of_evaluation_.insert(set);
      else
        of_evaluation_.erase(set);
    if (reading.logger) values[shown] = reading.value;
    if (for_loader != nullptr) (*for_loader)[shown] = reading.value;
  }
  // Reset after all are read, because a metric may be logged under several names.
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
  const auto over_ranks = metrics_over_ranks(*table_, {name});
  if (const auto found = over_ranks.find(name); found != over_ranks.end()) return found->second;
  Readings own;
  if (const auto found = table_->accumulators.find(name); found != table_->accumulators.end()) {
    const MetricAccumulator& logged = found->second;
    if (!logged.on_epoch && logged.fresh)
      own[name] = step_reading(logged);
    else if (const std::optional<double> value = logged.on_epoch ? logged.read_epoch(name) : std::nullopt)
      own[name] = reading_of(logged, *value, logged.weight);
  }
  if (const Readings all = merged(std::move(own)); !all.empty()) return all.begin()->second.value;
  const auto known = all_.find(name);
  return known == all_.end() ? std::nullopt : std::optional(known->second);
}

std::set<LoggedMetric*> MetricSink::metrics() const {
  std::set<LoggedMetric*> found;
  for (const auto& [name, accumulator] : table_->accumulators)
    if (accumulator.metric) found.insert(accumulator.metric.get());
  return found;
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
  of_evaluation_.clear();
  all_.clear();
  progress_bar_.clear();
  table_ = &train_;
}

}  // namespace levin
