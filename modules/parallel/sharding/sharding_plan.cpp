#include <levin/modules/parallel/sharding/sharding_plan.h>
#include <levin/modules/parallel/ranks/shard.h>
#include <levin/modules/parallel/sharding/find_units.h>
#include <levin/modules/parallel/sharding/narrow_memory.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

namespace levin::parallel {
namespace {

/// A unit's sizes in bytes.
struct UnitSizes {
  int64_t all = 0, trained = 0;
  int64_t gathered = 0, reduced = 0;  ///< in the dtypes in which parameters and gradients are sent
  int64_t largest = 0;                ///< of its trained parameters
  bool is_kept = false;               ///< stays whole until the optimizer's step
};

/// Returns the bytes of a parameter, or its gradient, if it is sent in a narrower dtype where it has a wider one.
int64_t sent_bytes(const at::Tensor& parameter, std::optional<at::ScalarType> dtype) {
  const at::ScalarType sent = narrower(parameter.scalar_type(), dtype).value_or(parameter.scalar_type());
  return parameter.numel() * static_cast<int64_t>(c10::elementSize(sent));
}

std::vector<UnitSizes> sizes_of_units(const torch::nn::Module& module, const ShardingOptions& options) {
  std::vector<UnitSizes> units;
  int64_t largest = 0;
  for (const UnitParameters& found : find_units(module)) {
    UnitSizes& unit = units.emplace_back();
    for (const at::Tensor& parameter : found.parameters) {
      const auto size = static_cast<int64_t>(parameter.nbytes());
      unit.all += size;
      unit.gathered += sent_bytes(parameter, options.gather_dtype);
      if (!parameter.requires_grad()) continue;
      unit.trained += size;
      unit.reduced += sent_bytes(parameter, options.reduce_dtype);
      unit.largest = std::max(unit.largest, size);
    }
    largest = std::max(largest, unit.all);
  }
  for (UnitSizes& unit : units) unit.is_kept = is_small_unit(unit.all, largest);
  return units;
}

/// Returns the order in which a batch uses units if all are used in forward and backward.
std::vector<size_t> there_and_back(size_t units) {
  std::vector<size_t> uses;
  for (size_t unit = 0; unit < units; ++unit) uses.push_back(unit);
  for (size_t unit = units; unit-- > 1;) uses.push_back(unit - 1);
  return uses;
}

/// Returns the bytes of the units that a step gathers.
int64_t gathered_bytes(const std::vector<UnitSizes>& units, bool keeps_parameters, const PlannedStep& step) {
  const std::vector<size_t> uses = step.uses.empty() ? there_and_back(units.size()) : step.uses;
  std::vector<bool> seen(units.size());
  int64_t once = 0, in_each_batch = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    const UnitSizes& unit = units[uses[i]];
    if (keeps_parameters || unit.is_kept) {
      if (!seen[uses[i]]) once += unit.gathered;
      seen[uses[i]] = true;
    } else if (i < 2 || uses[i - 2] != uses[i]) {  // where backward begins, the last unit but one is still there
      in_each_batch += unit.gathered;
    }
  }
  return once + step.batches * in_each_batch;
}

/// Returns the most that units and their gradients take at one time, besides shards. Backward goes from the last unit
/// to the first.
int64_t most_at_one_time(const std::vector<UnitSizes>& units, const ShardingOptions& options, const PlannedStep& step) {
  const auto whole = [&](size_t unit) { return options.keep_parameters || units[unit].is_kept ? 0 : units[unit].all; };
  const bool accumulates = step.batches > 1 && !options.reduce_each_batch;
  int64_t always = 0, most = 0;
  for (size_t i = 0; i < units.size(); ++i) {
    if (whole(i) == 0) always += units[i].all;
    if (accumulates) always += units[i].trained;
    // While a unit's first gradient is computed, those of the unit behind it are on their way, from one buffer to
    // another over Gloo.
    const int64_t sent = i + 1 < units.size() ? units[i + 1].trained : 0;
    const int64_t sending = (accumulates ? 0 : sent) + (step.scatters ? 0 : sent);
    // Then it has a buffer, and the unit before it is gathered.
    const int64_t collecting = (accumulates ? 0 : units[i].trained) + (i > 0 ? whole(i - 1) : 0);
    most = std::max(most, whole(i) + units[i].largest + std::max(sending, collecting));
  }
  return always + most;
}

}  // namespace

ShardingPlan plan_sharding(const torch::nn::Module& module, const ShardingOptions& options, const PlannedStep& step) {
  ShardingPlan plan;
  const std::vector<UnitSizes> units = sizes_of_units(module, options);
  const int64_t sharing = options.hybrid_shard > 0 ? options.hybrid_shard : step.ranks;
  const int64_t reductions = options.reduce_each_batch ? step.batches : 1;
  int64_t all = 0, trained = 0;
  for (const UnitSizes& unit : units) {
    all += unit.all;
    trained += unit.trained;
    plan.reduction.bytes += reductions * unit.reduced;
    if (unit.trained > 0) plan.reduction.buckets += reductions;
  }
  plan.parameters = shard_size(all, sharing);
  plan.gradients = shard_size(trained, sharing);
  plan.whole = most_at_one_time(units, options, step);
  plan.reduction.gathered_bytes = gathered_bytes(units, options.keep_parameters, step);
  plan.reduction.only_scatters = true;
  plan.reduction.sharing_ranks = sharing;
  return plan;
}

int64_t whole_bytes(const torch::nn::Module& module) {
  std::set<const void*> seen;
  int64_t bytes = 0;
  for (const at::Tensor& parameter : module.parameters())
    if (parameter.storage().data() != nullptr && seen.insert(parameter.storage().data()).second)
      bytes += static_cast<int64_t>(parameter.storage().nbytes());
  return bytes;
}

}  // namespace levin::parallel
