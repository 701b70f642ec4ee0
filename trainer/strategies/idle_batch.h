#pragma once
#include <levin/core/run/logged_metric.h>
#include <levin/core/run/step_context.h>
#include <levin/modules/lightning_module.h>

#include <functional>
#include <set>

namespace levin {

/// Runs `step` so that its batch counts for nothing: what it logs is dropped, statistics of batch norms over ranks
/// leave it out, and afterwards random numbers, buffers and `metrics`, with those that the module has registered, are
/// as before. `context` is the module's; nothing is restored if `step` throws, except for the context.
void run_idle_batch(const LightningModule& module, StepContext& context, std::set<LoggedMetric*> metrics,
                    const std::function<void()>& step);

}  // namespace levin
