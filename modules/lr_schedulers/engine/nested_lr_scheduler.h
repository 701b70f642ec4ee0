#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace levin {

/// A scheduler inside SequentialLR or ChainedScheduler, given by value or by shared_ptr; in a config, chosen by name.
/// It steps with the scheduler around it, so it has no interval, frequency, monitor or strict of its own.
struct NestedLRScheduler {
  NestedLRScheduler() = default;
  template <std::derived_from<LRSchedulerSpec> S>
  NestedLRScheduler(S scheduler) : spec(std::make_shared<S>(std::move(scheduler))) {}
  template <std::derived_from<LRSchedulerSpec> S>
  NestedLRScheduler(std::shared_ptr<S> scheduler) : spec(std::move(scheduler)) {}

  /// Binds it as part of the scheduler that is bound with `outer`, which is at `path`. Throws levin::UsageError for one
  /// that follows a metric.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer, const LRSchedulerContext& outer,
                                    const std::string& path) const;

  std::shared_ptr<const LRSchedulerSpec> spec = {};
  std::string config = {};  ///< the JSON that it was made from, where it was chosen by name
};

/// What the schedulers inside one with `own_config` are bound with.
LRSchedulerContext context_inside(const LRSchedulerContext& context, const LRSchedulerConfig& own_config);

LEVIN_DECLARE_OPTION_TYPE(NestedLRScheduler);

}  // namespace levin
