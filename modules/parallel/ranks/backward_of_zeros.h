#pragma once
#include <torch/csrc/autograd/function.h>

#include <vector>

namespace levin::parallel {

/// Runs a backward that begins at these places of the graph, with zeros as gradients: a rank without a loss takes part
/// in the collectives of the other ranks' backward.
void backward_of_zeros(const std::vector<torch::autograd::Edge>& roots);

}  // namespace levin::parallel
