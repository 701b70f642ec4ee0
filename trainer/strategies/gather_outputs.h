#pragma once
#include <c10/core/Device.h>
#include <levin/modules/step_output.h>

#include <cstdint>
#include <vector>

namespace levin {

/// Merges the outputs of the parts of a batch into the output for the whole batch: the mean of the parts' losses, on
/// `device` and with the graph of all of them. Each part's weight is the one that its step returned, or else its
/// `samples`; a part without a loss has weight 0. If no part has a loss, the output has none. Does not sync with any
/// device.
StepOutput gather_outputs(const std::vector<StepOutput>& outputs, const std::vector<int64_t>& samples,
                          c10::Device device);

}  // namespace levin
