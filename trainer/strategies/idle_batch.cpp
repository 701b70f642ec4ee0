#include <levin/trainer/strategies/idle_batch.h>
#include <c10/util/ScopeExit.h>
#include <levin/modules/parallel/ranks/sync_batch_norm.h>
#include <levin/trainer/logging/step_log.h>
#include <levin/trainer/strategies/forward_snapshot.h>

#include <utility>

namespace levin {

void run_idle_batch(const LightningModule& module, StepContext& context, std::set<LoggedMetric*> metrics,
                    const std::function<void()>& step) {
  for (const auto& [name, metric] : module.registered_metrics()) metrics.insert(metric);
  const ForwardSnapshot before(module, metrics);
  const parallel::UncountedBatch counts_for_nothing;
  StepLog unread;
  unread.begin(0);
  LogSink* const sink = std::exchange(context.sink, &unread);
  const auto sink_as_before = c10::make_scope_exit([&] { context.sink = sink; });
  step();
  before.restore();
}

}  // namespace levin
