#pragma once
#include <c10/core/Device.h>
#include <levin/modules/step_output.h>

#include <cstdint>
#include <vector>

namespace levin {

/// What training_step would have returned for the whole batch: the mean of the parts' losses, weighted by what the
/// steps returned as their weight or else by `samples`, on `device` and with the graph of all of them. Parts without a
/// loss weigh nothing; without any the output has none. Waits for no device.
StepOutput gather_outputs(const std::vector<StepOutput>& outputs, const std::vector<int64_t>& samples,
                          c10::Device device);

}  // namespace levin
