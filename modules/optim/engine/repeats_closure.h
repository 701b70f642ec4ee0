#pragma once

namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace levin::optim::detail {

/// Returns whether the optimizer evaluates its closure several times in one step, as often as its own gradients ask for
/// (LBFGS).
bool repeats_closure(const torch::optim::Optimizer& optimizer);

}  // namespace levin::optim::detail
