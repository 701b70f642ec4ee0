#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace levin {

/// A scheduler inside SequentialLR or ChainedScheduler, given by value, by shared_ptr or, in a config, by name. It
/// steps with the outer scheduler and therefore cannot set interval, frequency, monitor or strict.
struct NestedLRScheduler {
  NestedLRScheduler() = default;
  template <std::derived_from<LRSchedulerSpec> S>
  NestedLRScheduler(S scheduler) : spec(std::make_shared<S>(std::move(scheduler))) {}
  template <std::derived_from<LRSchedulerSpec> S>
  NestedLRScheduler(std::shared_ptr<S> scheduler) : spec(std::move(scheduler)) {}

  /// Binds the scheduler with the context `outer` of its outer scheduler; `path` is its path in the options. Throws
  /// levin::UsageError for a scheduler that follows a metric.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer, const LRSchedulerContext& outer,
                                    const std::string& path) const;

  std::shared_ptr<const LRSchedulerSpec> spec = {};
  std::string config = {};  ///< the JSON that it was made from, if chosen by name
};

/// Returns the context for binding the schedulers inside a scheduler with `own_config`.
LRSchedulerContext context_inside(const LRSchedulerContext& context, const LRSchedulerConfig& own_config);

LEVIN_DECLARE_OPTION_TYPE(NestedLRScheduler);

}  // namespace levin
