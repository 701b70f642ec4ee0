#pragma once
#include <levin/modules/metrics/metric.h>

namespace levin {
class Comm;
}

namespace levin::metrics {

/// Returns copies of the states that share no memory with them.
std::vector<MetricState> copy_states(const std::vector<MetricState>& states);
/// Returns the same states, reset.
std::vector<MetricState> empty_states(const std::vector<MetricState>& states);
/// Adds `later`, moved to `device`, in place. Throws levin::UsageError if the states do not match.
void add_states(std::vector<MetricState>& states, const std::vector<MetricState>& later, c10::Device device);
/// Returns the rows as one tensor [rows, columns]; undefined if there are none.
at::Tensor concatenate(const std::vector<at::Tensor>& rows);
/// Combines the states of all ranks. Collective: all ranks call it, with states of the same names.
std::vector<MetricState> gather_states(const std::vector<MetricState>& states, Comm& comm, c10::Device device);

}  // namespace levin::metrics
