#include <levin/core/run/absent_metric.h>
#include <levin/core/run/run.h>
#include <levin/core/system/signals.h>

namespace levin {

std::optional<std::string> metric_never_came(Run& run, const std::string& option, const std::string& metric) {
  if (run.state().global_step == 0 || run.metric(metric)) return {};
  if (!run.comm().is_global_zero() || received_signal() != 0) return {};
  return option + ": " + absent_metric(metric, run.metrics());
}

}  // namespace levin
