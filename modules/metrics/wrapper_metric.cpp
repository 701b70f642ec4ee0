#include <levin/modules/metrics/wrapper_metric.h>
#include <levin/core/system/error.h>

namespace levin::metrics {
namespace {

using Parts = std::vector<std::shared_ptr<Metric>>;

Parts copies_of(const Parts& parts) {
  Parts copies;
  for (const auto& part : parts) copies.push_back(part->clone());
  return copies;
}

void check_parts(size_t given, size_t expected) {
  if (given != expected)
    throw UsageError("metric: the state has ", given, " parts, expected ", expected,
                     "; it was saved by a metric with other options");
}

}  // namespace

WrapperMetric::WrapperMetric(const char* wrapper, const std::shared_ptr<Metric>& metric, int64_t copies) {
  if (!metric) throw UsageError(wrapper, ".metric: missing; name the metric that it wraps");
  for (int64_t i = 0; i < copies; ++i) parts.push_back(metric->clone());
}

WrapperMetric::WrapperMetric(const WrapperMetric& other) : Metric(other), parts(copies_of(other.parts)) {}

WrapperMetric& WrapperMetric::operator=(const WrapperMetric& other) {
  Metric::operator=(other);
  parts = copies_of(other.parts);
  return *this;
}

void WrapperMetric::reset() {
  Metric::reset();
  for (const auto& part : parts) part->reset();
}

void WrapperMetric::sync(Comm& comm) {
  Metric::sync(comm);
  for (const auto& part : parts) part->sync(comm);
}

void WrapperMetric::unsync() {
  Metric::unsync();
  for (const auto& part : parts) part->unsync();
}

State WrapperMetric::state_dict() const {
  State states = State::list();
  for (const auto& part : parts) states.push_back(part->state_dict());
  return State::dict({{"parts", std::move(states)}});
}

void WrapperMetric::load_state_dict(const State& state) {
  unsync();
  const State::List& states = state.at("parts").items();
  check_parts(states.size(), parts.size());
  for (size_t i = 0; i < parts.size(); ++i) parts[i]->load_state_dict(states[i]);
}

void WrapperMetric::prepend_state_dict(const State& earlier) {
  unsync();
  const State::List& states = earlier.at("parts").items();
  check_parts(states.size(), parts.size());
  for (size_t i = 0; i < parts.size(); ++i) parts[i]->prepend_state_dict(states[i]);
}

void WrapperMetric::to(c10::Device device) {
  Metric::to(device);
  for (const auto& part : parts) part->to(device);
}

void WrapperMetric::use_stream(int64_t stream) {
  for (const auto& part : parts)
    if (auto* const wrapper = dynamic_cast<WrapperMetric*>(part.get())) wrapper->use_stream(stream);
}

}  // namespace levin::metrics
