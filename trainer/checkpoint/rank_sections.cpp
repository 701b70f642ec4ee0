#include <levin/trainer/checkpoint/rank_sections.h>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/run/log_sink.h>

#include <set>
#include <utility>

namespace levin {
namespace {

using Parts = std::vector<const State*>;

double weight_in(const State& logged) { return logged.at("weight").to_double(); }

at::Tensor as_tensor(const State& number) {
  return number.is_tensor() ? number.to_tensor().to(at::kDouble) : at::scalar_tensor(number.to_double(), at::kDouble);
}

/// Reduces numbers that may be tensors on a device. Returns a tensor if any number is one.
State reduced(const std::vector<State>& numbers, ReduceFx reduce) {
  at::Tensor all = as_tensor(numbers.front());
  bool on_device = numbers.front().is_tensor();
  for (size_t i = 1; i < numbers.size(); ++i) {
    const at::Tensor one = as_tensor(numbers[i]).to(all.device());
    on_device = on_device || numbers[i].is_tensor();
    all = reduce == ReduceFx::Min ? at::minimum(all, one) : reduce == ReduceFx::Max ? at::maximum(all, one) : all + one;
  }
  return on_device ? State(all) : State(all.item<double>());
}

State times(const State& number, double factor) {
  return number.is_tensor() ? State(number.to_tensor() * factor) : State(number.to_double() * factor);
}

/// Merges the newest values that no log point has read into one rank's value.
void merge_newest(State& merged, const Parts& of_ranks, ReduceFx reduce, double share) {
  std::vector<State> values;
  double weight = 0;
  for (const State* logged : of_ranks) {
    if (!logged->at("fresh").to_bool()) continue;
    const State* const saved_weight = logged->find("newest_weight");
    const double own = saved_weight != nullptr ? saved_weight->to_double() : 1;
    values.push_back(times(logged->at("newest"), reduce == ReduceFx::Mean ? own : 1));
    weight += own;
  }
  merged["fresh"] = !values.empty();
  if (values.empty()) return;
  merged["newest"] = times(reduced(values, reduce), reduce == ReduceFx::Mean  ? (weight > 0 ? 1 / weight : 0)
                                                    : reduce == ReduceFx::Sum ? share
                                                                              : 1);
  merged["newest_weight"] = weight * share;
}

/// A metric's states go to rank 0; its value is already that of all ranks.
void merge_metric(State& merged, const Parts& of_ranks, bool is_rank_zero) {
  State restored = State::list();
  for (const State* logged : of_ranks) {
    if (weight_in(*logged) > 0) merged["weight"] = 1.0;
    if (!is_rank_zero) continue;
    if (const State& metric = logged->at("metric"); metric.is_dict()) restored.push_back(metric);
    if (const State* earlier = logged->find("restored_metrics"); earlier != nullptr && !earlier->is_none())
      for (const State& one : earlier->items()) restored.push_back(one);
  }
  if (merged.at("metric").is_string()) return;  // registered with the module, which restores its state
  merged["metric"] = State();
  merged["restored_metrics"] = std::move(restored);
}

bool is_metric(const State& logged) {
  const State* const restored = logged.find("restored_metrics");
  return !logged.at("metric").is_none() || (restored != nullptr && !restored->is_none());
}

/// Merges one name over the ranks that logged it and returns the share of one of `world_size` ranks.
State share_of(const Parts& of_ranks, bool is_rank_zero, int64_t world_size) {
  State merged = *of_ranks.front();
  const auto reduce = static_cast<ReduceFx>(merged.at("reduce_fx").to_int());
  const double share = 1.0 / static_cast<double>(world_size);
  merge_newest(merged, of_ranks, reduce, share);
  if (is_metric(merged)) {
    merge_metric(merged, of_ranks, is_rank_zero);
    return merged;
  }
  std::vector<State> values;
  double weight = 0;
  for (const State* logged : of_ranks) {
    if (weight_in(*logged) == 0) continue;
    values.push_back(logged->at("value"));
    weight += weight_in(*logged);
  }
  if (values.empty()) return merged;
  const bool sums = reduce == ReduceFx::Mean || reduce == ReduceFx::Sum;
  merged["value"] = times(reduced(values, reduce), sums ? share : 1);
  merged["weight"] = weight * share;
  return merged;
}

/// Merges a table of logged values. A name that some ranks lack is merged over the others.
State table_of(const Parts& of_ranks, bool is_rank_zero, int64_t world_size) {
  State table = State::dict({{"suffix", of_ranks.front()->at("suffix")}});
  State values = State::dict();
  std::set<std::string> names;
  for (const State* one : of_ranks)
    for (const auto& [name, logged] : one->at("values").to_dict()) names.insert(to_text(name));
  for (const std::string& name : names) {
    Parts with_it;
    for (const State* one : of_ranks)
      if (const State* logged = one->at("values").find(name)) with_it.push_back(logged);
    values[name] = share_of(with_it, is_rank_zero, world_size);
  }
  table["values"] = std::move(values);
  return table;
}

/// Returns the random number state of a rank that did not save: different on each rank, and reproducible.
State rng_of_new_rank(const State& of_rank_zero, int64_t rank) {
  const RngGuard generator_as_before;
  load_rng_state(of_rank_zero);
  const auto drawn = at::randint(int64_t{1} << 62, {1}, at::TensorOptions(at::kLong)).item<int64_t>();
  seed_generators(static_cast<uint64_t>(drawn + rank));
  return rng_state();
}

}  // namespace

RankSections::RankSections(const State& ranks, int64_t rank, int64_t world_size)
    : sections_(ranks.items()), rank_(rank), world_size_(world_size) {}

std::vector<const State*> RankSections::sections_for_sums() const {
  if (!other_ranks()) return {&own()};
  Parts all;
  if (rank_ == 0)
    for (const State& section : sections_) all.push_back(&section);
  return all;
}

State RankSections::logged() const {
  if (!other_ranks()) return own().at("logged");
  State merged = own().at("logged");
  Parts train;
  size_t loaders = 0;
  for (const State& section : sections_) {
    train.push_back(&section.at("logged").at("train"));
    loaders = std::max(loaders, section.at("logged").at("evaluation").size());
  }
  merged["train"] = table_of(train, rank_ == 0, world_size_);
  State evaluation = State::list();
  for (size_t i = 0; i < loaders; ++i) {
    Parts of_loader;
    for (const State& section : sections_)
      if (const State::List& tables = section.at("logged").at("evaluation").items(); i < tables.size())
        of_loader.push_back(&tables[i]);
    evaluation.push_back(table_of(of_loader, rank_ == 0, world_size_));
  }
  merged["evaluation"] = std::move(evaluation);
  return merged;
}

State RankSections::places() const {
  State places = own();
  if (rank_ >= saved()) places["rng"] = rng_of_new_rank(own().at("rng"), rank_);
  places["ranks"] = saved();
  return places;
}

}  // namespace levin
