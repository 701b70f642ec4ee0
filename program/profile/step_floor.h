#pragma once
#include <c10/core/Device.h>
#include <levin/modules/observers/flop_counter.h>
#include <levin/program/profile/profile_report.h>

#include <cstdint>
#include <map>

namespace torch::optim {
class Optimizer;
}

namespace levin {

/// Returns the bytes that a step of the optimizer reads and writes at least: parameters and state twice, gradients
/// once. Of parameters that have a gradient; the state is that of the moment.
int64_t bytes_of_step(torch::optim::Optimizer& optimizer);

/// Returns the bytes of the gradients that there are.
int64_t bytes_of_gradients(const torch::optim::Optimizer& optimizer);

/// Returns the least time of a step on this machine: its matrix products, each measured alone at its shape with the
/// compute threads that LibTorch has now (small ones beyond the 64 largest at the rate of `machine`); its `bytes` of
/// memory; and `bytes_of_ranks` of gradients, which each rank of the machine reads and writes once more. Both as fast
/// as a copy of that size.
ProfileFloor floor_of_step(const std::map<MatrixProduct, int64_t>& products, int64_t bytes, int64_t bytes_of_ranks,
                           const ProfileMachine& machine, c10::Device device);

}  // namespace levin
