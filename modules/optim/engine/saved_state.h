#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/state.h>
#include <levin/modules/optim/engine/parameter_groups.h>

#include <cstdint>
#include <vector>

namespace levin::optim::detail {

/// Throws levin::UsageError if the number of saved groups, or of their parameters, differs from `groups`.
void check_saved_groups(const ParamGroups& groups, const State::List& saved);
/// Does the same for groups with these numbers of parameters.
void check_saved_groups(const std::vector<size_t>& group_sizes, const State::List& saved);

/// Throws levin::UsageError if the options of a saved group are those of another class than the present ones: each has
/// some that the other lacks.
void check_saved_options(const State& saved, const State& present);

/// Throws levin::UsageError if the saved state of a parameter has a key that is neither in `known` nor "step", since it
/// belongs to another optimizer.
void check_saved_keys(const State& of_parameter, const std::vector<const char*>& known);

/// Returns the saved state of parameter number `index`; null if there is none. Checkpoints of levin 0.1.0 have a none
/// in the place of an empty state.
const State* saved_values(const State& saved, int64_t index);

/// Returns a saved number, which Python may have saved as a tensor.
double saved_number(const State& value);

/// Returns a copy of a saved tensor on the device of `parameter` and, if `parameter` is floating-point, with its dtype.
/// Throws levin::UsageError that names `key` if `expected` is defined and has another shape.
at::Tensor saved_tensor(const char* key, const at::Tensor& saved, const at::Tensor& parameter,
                        const at::Tensor& expected);

}  // namespace levin::optim::detail
