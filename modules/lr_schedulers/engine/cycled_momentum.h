#pragma once
#include <cstddef>

namespace torch::optim {
class Optimizer;
}

namespace levin {

/// Sets the momentum of a parameter group, or its first beta if it has betas. Throws levin::UsageError that names
/// `scheduler` if the optimizer has neither.
void set_cycled_momentum(torch::optim::Optimizer& optimizer, size_t group, double momentum, const char* scheduler);

}  // namespace levin
