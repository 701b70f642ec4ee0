#include <levin/modules/metrics/engine/run_extremes.h>

#include <variant>

namespace levin::metrics {

State RunExtremes::state_of(const Saved& saved) {
  return State::dict({{"extreme", saved.extreme},
                      {"computed", saved.computed ? State(*saved.computed) : State()},
                      {"epoch", saved.epoch}});
}

void RunExtremes::give(EpochExtreme& metric, const Saved& saved, int64_t epoch) {
  metric.take(saved.extreme);
  if (saved.computed && saved.epoch < epoch) metric.take(*saved.computed);
}

void RunExtremes::counts(const std::string& key, const std::shared_ptr<Metric>& metric, int64_t epoch) {
  const auto [place, is_new] = added_.try_emplace(key);
  place->second.epoch = epoch;
  if (!is_new) return;
  place->second.metric = std::dynamic_pointer_cast<EpochExtreme>(metric);
  if (const auto known = loaded_.find(key); known != loaded_.end()) give(*place->second.metric, known->second, epoch);
}

State RunExtremes::state_dict() const {
  State state = State::dict();
  for (const auto& [key, saved] : loaded_) state[key] = state_of(saved);
  for (const auto& [key, added] : added_)
    state[key] =
        state_of({.extreme = added.metric->extreme(), .computed = added.metric->computed(), .epoch = added.epoch});
  return state;
}

void RunExtremes::prepend_state_dict(const State& earlier) {
  for (const auto& [key, value] : earlier.to_dict()) {
    const std::string& name = std::get<std::string>(key);
    Saved saved = {.extreme = value.at("extreme").to_double(), .epoch = value.at("epoch").to_int()};
    if (const State& computed = value.at("computed"); !computed.is_none()) saved.computed = computed.to_double();
    const auto known = added_.find(name);
    if (known != added_.end())
      give(*known->second.metric, saved, known->second.epoch);
    else
      loaded_[name] = saved;
  }
}

}  // namespace levin::metrics
