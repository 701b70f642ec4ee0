#pragma once
#include <levin/modules/optim/parameter_rows.h>
#include <levin/trainer/run/run_parts.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace levin {

/// The result of levin::tune: a learning rate, or a factor for the rates that the module configures.
struct FoundRate {
  std::optional<double> lr = {};
  double factor = 1;
};

/// Puts the optimizers that the module configures, at the rate that was found, and their schedulers into the parts, and
/// attaches them to strategy and precision. `total_steps` returns the length of the training; schedulers call it while
/// the parts exist. Returns what lets LibTorch's optimizers follow changes of rows.
///
/// Throws UsageError for a null pointer in place of an optimizer, and for one that the options do not allow.
std::vector<optim::RowTracker> configure_optimizers(RunParts& parts, LightningModule& module, const FoundRate& found,
                                                    std::function<std::optional<int64_t>()> total_steps);

}  // namespace levin
