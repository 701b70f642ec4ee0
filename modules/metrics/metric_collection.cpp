#include <levin/modules/metrics/metric_collection.h>
#include <levin/core/system/error.h>

#include <set>

namespace levin::metrics {

MetricCollection::MetricCollection(std::vector<NamedMetric> metrics, MetricCollectionOptions options)
    : metrics_(std::move(metrics)), options_(std::move(options)) {
  if (metrics_.empty()) throw UsageError("MetricCollection: expected at least one metric");
  std::set<std::string> names;
  for (const NamedMetric& named : metrics_) {
    if (!named.metric) throw UsageError("MetricCollection: metric '", named.name, "' is null");
    if (!names.insert(named.name).second)
      throw UsageError("MetricCollection: the name '", named.name, "' comes twice; give each metric its own");
  }
}

void MetricCollection::update_all(at::TensorList inputs) {
  for (const NamedMetric& named : metrics_) named.metric->update_all(inputs);
}

MetricCollection::Values MetricCollection::forward_all(at::TensorList inputs) {
  Values values;
  for (const NamedMetric& named : metrics_)
    values.emplace_back(full_name(named.name), named.metric->forward_all(inputs));
  return values;
}

MetricCollection::Values MetricCollection::compute() const {
  Values values;
  for (const NamedMetric& named : metrics_) values.emplace_back(full_name(named.name), named.metric->compute());
  return values;
}

void MetricCollection::reset() {
  for (const NamedMetric& named : metrics_) named.metric->reset();
}

void MetricCollection::merge(const MetricCollection& other) {
  if (other.metrics_.size() != metrics_.size())
    throw UsageError("MetricCollection: merge expected ", metrics_.size(), " metrics, got ", other.metrics_.size());
  for (const NamedMetric& named : metrics_) named.metric->merge(other[named.name]);
}

void MetricCollection::sync(Comm& comm) {
  for (const NamedMetric& named : metrics_) named.metric->sync(comm);
}

void MetricCollection::unsync() {
  for (const NamedMetric& named : metrics_) named.metric->unsync();
}

void MetricCollection::to(c10::Device device) {
  for (const NamedMetric& named : metrics_) named.metric->to(device);
}

State MetricCollection::state_dict() const {
  State state = State::dict();
  for (const NamedMetric& named : metrics_) state[named.name] = named.metric->state_dict();
  return state;
}

void MetricCollection::load_state_dict(const State& state) {
  for (const NamedMetric& named : metrics_) named.metric->load_state_dict(state.at(named.name));
}

MetricCollection MetricCollection::clone(MetricCollectionOptions options) const {
  std::vector<NamedMetric> copies;
  for (const NamedMetric& named : metrics_) copies.emplace_back(named.name, named.metric->clone());
  return MetricCollection(std::move(copies), std::move(options));
}

Metric& MetricCollection::operator[](const std::string& name) const {
  std::vector<std::string> names;
  for (const NamedMetric& named : metrics_) {
    if (named.name == name) return *named.metric;
    names.push_back(named.name);
  }
  throw UsageError("MetricCollection: no metric '", name, "'", did_you_mean(name, names));
}

}  // namespace levin::metrics
