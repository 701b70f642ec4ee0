#pragma once
#include <ATen/core/jit_type.h>
#include <levin/modules/program/exported_program.h>

#include <cstdint>
#include <vector>

namespace levin::program {

// Arguments of a graph's nodes as those of a program. `type` is what the operator takes there; null if that is unknown.
// They throw levin::UsageError for sparse layouts, and for lists of other things than numbers and tensors.

/// Returns a whole number as what the operator takes: a dtype, a layout, a memory format, a real number or a whole one.
Argument number_argument(int64_t value, const c10::TypePtr& type);
/// Returns a list of tensors, of tensors or none, or of numbers.
Argument list_argument(const std::vector<Argument>& items, const c10::TypePtr& type);

}  // namespace levin::program
