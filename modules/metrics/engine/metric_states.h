#pragma once
#include <levin/modules/metrics/metric.h>

namespace levin {
class Comm;
}

namespace levin::metrics {

/// States with memory of their own.
std::vector<MetricState> copy_states(const std::vector<MetricState>& states);
/// The same states, with nothing counted.
std::vector<MetricState> empty_states(const std::vector<MetricState>& states);
/// Adds `later`, moved to `device`, in place. Throws levin::UsageError if the states do not fit.
void add_states(std::vector<MetricState>& states, const std::vector<MetricState>& later, c10::Device device);
/// The rows as one tensor [rows, columns]; undefined where there are none.
at::Tensor concatenate(const std::vector<at::Tensor>& rows);
/// The states of all ranks as one. Every rank calls it, with states of the same names.
std::vector<MetricState> gather_states(const std::vector<MetricState>& states, Comm& comm, c10::Device device);

}  // namespace levin::metrics
