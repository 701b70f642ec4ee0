#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/batch.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

/// Returns rows [length, ...] of one batch as [rows, longest, ...], with `value` behind the end of the shorter ones. It
/// is written to memory of `out`, by its name. Throws levin::UsageError if the rows differ in type or in more than the
/// length, if lengths differ without a value, and if the value does not fit into the type.
at::Tensor pad_rows(const std::vector<at::Tensor>& rows, const std::string& name, std::optional<double> value,
                    Batch& out);

/// Returns int64 [rows, longest], 1 in the first `lengths[i]` columns of row i and 0 behind.
at::Tensor mask_of_lengths(const std::vector<int64_t>& lengths, const std::string& name, Batch& out);

}  // namespace levin::data
