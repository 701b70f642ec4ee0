#pragma once
#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

namespace c10 {
class OperatorHandle;
}

namespace levin::program {

/// Checks the arguments of an operator, in the order of its schema. Throws levin::UsageError if they do not fit.
using ArgumentCheck = void (*)(const std::vector<c10::IValue>& arguments);

/// Returns the check of an operator that does not check its own arguments and would read memory that is not theirs;
/// nullptr for others.
ArgumentCheck find_argument_check(const c10::OperatorHandle& op);

}  // namespace levin::program
