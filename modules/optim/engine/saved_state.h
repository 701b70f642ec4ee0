#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <levin/trainer/core/state/state.h>

#include <vector>

namespace levin::optim::detail {

/// Throws levin::UsageError if saved groups are not as many as `groups`, or do not hold as many parameters.
void check_saved_groups(const ParamGroups& groups, const State::List& saved);
/// The same for groups of so many parameters.
void check_saved_groups(const std::vector<size_t>& group_sizes, const State::List& saved);

/// Throws levin::UsageError if the saved state of a parameter has a value that is not among `known` (nor "step"): it
/// is another optimizer's.
void check_saved_keys(const State& of_parameter, const std::vector<const char*>& known);

/// A number, which Python may have saved as a tensor.
double saved_number(const State& value);

/// A copy of a saved tensor with the device and, where that is of floating point, the dtype of `parameter`. Throws
/// levin::UsageError where `expected` is defined and of another shape; `key` stands in the message.
at::Tensor saved_tensor(const char* key, const at::Tensor& saved, const at::Tensor& parameter,
                        const at::Tensor& expected);

}  // namespace levin::optim::detail
