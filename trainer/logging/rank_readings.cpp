#include <levin/trainer/logging/rank_readings.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/system/console.h>
#include <levin/trainer/logging/metric_accumulator.h>

#include <algorithm>
#include <vector>

namespace levin {
namespace {

State to_state(const Reading& reading) {
  State state = State::list();
  state.push_back(reading.value);
  state.push_back(reading.weight);
  state.push_back(static_cast<int64_t>(reading.reduce_fx));
  for (const bool flag :
       {reading.prog_bar, reading.logger, reading.add_dataloader_idx, reading.on_step, reading.on_epoch})
    state.push_back(flag);
  state.push_back(reading.batch);
  return state;
}

Reading to_reading(const State& state) {
  const State::List& items = state.items();
  return {.value = items[0].to_double(),
          .weight = items[1].to_double(),
          .reduce_fx = static_cast<ReduceFx>(items[2].to_int()),
          .prog_bar = items[3].to_bool(),
          .logger = items[4].to_bool(),
          .add_dataloader_idx = items[5].to_bool(),
          .on_step = items[6].to_bool(),
          .on_epoch = items[7].to_bool(),
          .batch = items[8].to_int()};
}

/// Drops readings of older batches: a rank without samples in the newest batch still has its earlier value.
std::vector<Reading> of_newest_batch(std::vector<Reading> readings) {
  const int64_t newest = std::ranges::max(readings, {}, &Reading::batch).batch;
  std::erase_if(readings, [newest](const Reading& one) { return one.batch != newest; });
  return readings;
}

Reading merged(const std::vector<Reading>& readings) {
  Reading result = readings.front();
  double sum = 0, weight = 0;
  bool alike = true;
  for (const Reading& one : readings) {
    weight += one.weight;
    sum += one.value * (result.reduce_fx == ReduceFx::Mean ? one.weight : 1);
    alike = alike && one.value == readings.front().value;
    if (result.reduce_fx == ReduceFx::Min) result.value = std::min(result.value, one.value);
    if (result.reduce_fx == ReduceFx::Max) result.value = std::max(result.value, one.value);
  }
  if (result.reduce_fx == ReduceFx::Sum) result.value = sum;
  if (result.reduce_fx == ReduceFx::Mean && !alike && weight > 0) result.value = sum / weight;
  result.weight = weight;
  return result;
}

}  // namespace

Readings merge_over_ranks(const Readings& own, Comm& comm, std::set<std::string>& reported) {
  State sent = State::dict();
  for (const auto& [name, reading] : own) sent[name] = to_state(reading);
  std::map<std::string, std::vector<Reading>> by_name;
  for (const State& of_rank : gather_states(sent, comm))
    for (const auto& [name, reading] : of_rank.to_dict()) by_name[to_text(name)].push_back(to_reading(reading));
  Readings result;
  for (const auto& [name, readings] : by_name) {
    if (static_cast<int64_t>(readings.size()) != comm.world_size() && reported.insert(name).second &&
        comm.is_global_zero())
      console::warn(c10::str("log('", name, "'): ", readings.size(), " of ", comm.world_size(),
                             " ranks have logged it; its value is that of those ranks"));
    result[name] = merged(of_newest_batch(readings));
  }
  return result;
}

std::vector<std::string> names_of_all_ranks(const std::set<std::string>& own, Comm& comm) {
  State sent = State::list();
  for (const std::string& name : own) sent.push_back(name);
  std::map<std::string, int64_t> ranks;
  for (const State& of_rank : gather_states(sent, comm))
    for (const State& name : of_rank.items()) ranks[name.to_string()] += 1;
  std::vector<std::string> names;
  for (const auto& [name, count] : ranks)
    if (count == comm.world_size()) names.push_back(name);
  return names;
}

std::map<std::string, double> values_of_some_ranks(const CountedMetrics& own, Comm& comm) {
  if (largest_count(static_cast<int64_t>(own.logged.size()), comm) == 0) return {};
  const c10::InferenceMode normal_tensors(false);
  State logged = State::dict(), restored = State::dict();
  for (const auto& [name, metric] : own.logged) logged[name] = metric->state_dict();
  for (const auto& [name, states] : own.restored) restored[name] = State(states);
  const std::vector<State> of_ranks =
      gather_states(State::dict({{"logged", std::move(logged)}, {"restored", std::move(restored)}}), comm);
  State computed = State::dict();
  for (const auto& [name, metric] : own.logged) {
    metric->reset();
    for (auto of_rank = of_ranks.rbegin(); of_rank != of_ranks.rend(); ++of_rank) {
      if (const State* counted = of_rank->at("logged").find(name)) metric->prepend_state_dict(*counted);
      if (const State* states = of_rank->at("restored").find(name)) {
        const auto& items = states->items();
        for (auto one = items.rbegin(); one != items.rend(); ++one) metric->prepend_state_dict(*one);
      }
    }
    computed[name] = read_value(name, *metric);
    metric->load_state_dict(of_ranks[static_cast<size_t>(comm.rank())].at("logged").at(name));
  }
  // Shared with the ranks that have not logged the metrics.
  std::map<std::string, double> values;
  for (const State& of_rank : gather_states(computed, comm))
    for (const auto& [name, value] : of_rank.to_dict()) values.emplace(to_text(name), value.to_double());
  return values;
}

}  // namespace levin
