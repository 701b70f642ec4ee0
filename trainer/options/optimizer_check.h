#pragma once
#include <levin/trainer/options/resolved_options.h>

namespace torch::optim {
class Optimizer;
}

namespace levin {

/// Throws levin::UsageError if a run with these options cannot step the optimizer: one that evaluates a batch many
/// times in a step, as LBFGS does, or one that looks at whole parameters where ranks have parts of them.
void check_optimizer(const torch::optim::Optimizer& optimizer, const ResolvedOptions& options);

}  // namespace levin
