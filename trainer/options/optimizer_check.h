#pragma once
#include <levin/core/run/callback_entry.h>
#include <levin/modules/lr_schedulers/interval.h>
#include <levin/trainer/options/resolved_options.h>

#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace levin {

class LRScheduler;

/// Throws levin::UsageError if a run with these options cannot step the optimizer: one that evaluates a batch many
/// times in a step, as LBFGS does, one that looks at whole parameters where ranks have parts of them, or one that
/// averages weights where something else does.
void check_optimizer(const torch::optim::Optimizer& optimizer, const ResolvedOptions& options);

/// Throws levin::UsageError if the optimizer averages weights, and one of the callbacks does too.
void check_averages(const torch::optim::Optimizer& optimizer, const std::vector<CallbackEntry>& callbacks);

/// Throws levin::UsageError if the schedule counts tokens by `interval`, and cannot.
void check_interval(const LRScheduler& scheduler, Interval interval);

}  // namespace levin
