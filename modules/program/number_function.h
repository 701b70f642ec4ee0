#pragma once
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace levin::program {

/// A function of numbers: Python's operators and math, and torch.sym_*, as programs compute sizes with them.
using NumberFunction = c10::IValue (*)(const std::vector<c10::IValue>& arguments);

/// Returns the function of a node's target ("_operator.mul"); nullptr if there is none of that name. The functions
/// throw levin::UsageError for a wrong number or kind of arguments, a division by zero, and results beyond 64 bits.
NumberFunction find_number_function(const std::string& target);

}  // namespace levin::program
