#include <levin/trainer/logging/step_log.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <levin/core/run/logged_metric.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace levin {
namespace {

using Entry = StepLog::Entry;
/// The entries of all replicas under one name, in replica order.
using Entries = std::vector<const Entry*>;

/// Returns the entries of all logs, grouped by name; a name that a step logs twice makes two groups.
std::vector<Entries> matching_entries(const std::vector<StepLog>& logs) {
  std::vector<Entries> found;
  std::map<std::pair<std::string, int>, size_t> places;
  for (const StepLog& log : logs) {
    std::map<std::string, int> times;
    for (const Entry& entry : log.entries()) {
      const auto [place, is_new] = places.try_emplace({entry.name, times[entry.name]++}, found.size());
      if (is_new) found.emplace_back();
      found[place->second].push_back(&entry);
    }
  }
  return found;
}

double total_samples(const Entries& entries) {
  double total = 0;
  for (const Entry* entry : entries) total += entry->samples;
  return total;
}

/// Returns the share of each entry in a mean; equal shares if the total weight is 0.
std::vector<double> shares(const Entries& entries) {
  const double total = total_samples(entries);
  std::vector<double> shares;
  for (const Entry* entry : entries)
    shares.push_back(total > 0 ? entry->samples / total : 1.0 / static_cast<double>(entries.size()));
  return shares;
}

double merged_number(const Entries& entries, ReduceFx reduce_fx) {
  double merged = entries.front()->number;
  if (reduce_fx == ReduceFx::Mean) {
    const std::vector<double> share = shares(entries);
    merged = 0;
    for (size_t i = 0; i < entries.size(); ++i) merged += entries[i]->number * share[i];
    return merged;
  }
  for (size_t i = 1; i < entries.size(); ++i) {
    const double number = entries[i]->number;
    merged = reduce_fx == ReduceFx::Sum   ? merged + number
             : reduce_fx == ReduceFx::Min ? std::fmin(merged, number)
                                          : std::fmax(merged, number);
  }
  return merged;
}

at::Tensor merged_tensor(const Entries& entries, ReduceFx reduce_fx, c10::Device device) {
  const std::vector<double> share = shares(entries);
  at::Tensor merged;
  for (size_t i = 0; i < entries.size(); ++i) {
    at::Tensor value = entries[i]->tensor.to(device, at::kDouble, /*non_blocking=*/true);
    if (reduce_fx == ReduceFx::Mean) value = value * share[i];
    merged = !merged.defined()            ? value
             : reduce_fx == ReduceFx::Min ? at::minimum(merged, value)
             : reduce_fx == ReduceFx::Max ? at::maximum(merged, value)
                                          : merged + value;
  }
  return merged;
}

void merge_metric(const Entries& entries, size_t replicas, c10::Device device, LogSink& sink) {
  const Entry& first = *entries.front();
  if (entries.size() != replicas)
    throw UsageError("log('", first.name, "'): under dp each replica must log the metric in each step");
  first.metric->to(device);
  for (auto entry = entries.begin() + 1; entry != entries.end(); ++entry) {
    LoggedMetric& metric = *(*entry)->metric;
    if (&metric == first.metric.get()) continue;  // the same module ran several parts
    metric.to(device);
    first.metric->prepend_state_dict(metric.state_dict());
    metric.reset();
  }
  sink.log(first.name, first.metric, first.options);
}

}  // namespace

void StepLog::begin(int64_t samples, bool reads_cpu) {
  samples_ = samples;
  reads_cpu_ = reads_cpu;
  entries_.clear();
}

Entry& StepLog::add(const std::string& name, const LogOptions& options) {
  const double samples = static_cast<double>(options.batch_size.value_or(samples_));
  return entries_.emplace_back(Entry{.name = name, .options = options, .samples = samples});
}

void StepLog::set_weight(double weight) {
  for (Entry& entry : entries_)
    if (!entry.options.batch_size) entry.samples = weight;
}

void StepLog::log(const std::string& name, const at::Tensor& value, const LogOptions& options) {
  Entry& entry = add(name, options);
  if (reads_cpu_ && value.is_cpu() && value.numel() == 1 && !value.is_complex())
    entry.number = value.item<double>();
  else
    entry.tensor = value.detach();
}

void StepLog::log(const std::string& name, double value, const LogOptions& options) {
  add(name, options).number = value;
}

void StepLog::log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, const LogOptions& options) {
  add(name, options).metric = metric;
}

void merge_logs(const std::vector<StepLog>& logs, c10::Device device, LogSink& sink) {
  for (Entries& entries : matching_entries(logs)) {
    const Entry& first = *entries.front();
    if (first.metric) {
      merge_metric(entries, logs.size(), device, sink);
      continue;
    }
    LogOptions options = first.options;
    // A value that all replicas log has the batch's weight, which is that of all parts and need not be whole.
    const bool is_of_batch = entries.size() == logs.size() && std::ranges::none_of(entries, [](const Entry* entry) {
                               return entry->options.batch_size.has_value();
                             });
    if (!is_of_batch) options.batch_size = static_cast<int64_t>(total_samples(entries));
    if (first.tensor.defined())
      sink.log(first.name, merged_tensor(entries, options.reduce_fx, device), options);
    else
      sink.log(first.name, merged_number(entries, options.reduce_fx), options);
  }
}

}  // namespace levin
