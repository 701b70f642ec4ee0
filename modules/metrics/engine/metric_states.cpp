#include <levin/modules/metrics/engine/metric_states.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/ScalarType.h>
#include <levin/core/ranks/comm.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin::metrics {

std::vector<MetricState> copy_states(const std::vector<MetricState>& states) {
  std::vector<MetricState> copies = states;
  // Rows are never changed in place, so copies can share them.
  for (MetricState& state : copies)
    if (!state.is_list) state.sum = state.sum.clone();
  return copies;
}

std::vector<MetricState> empty_states(const std::vector<MetricState>& states) {
  std::vector<MetricState> empty = states;
  for (MetricState& state : empty) {
    state.rows.clear();
    if (!state.is_list) state.sum = at::zeros_like(state.sum);
  }
  return empty;
}

void add_states(std::vector<MetricState>& states, const std::vector<MetricState>& later, c10::Device device) {
  const auto fits = [](const MetricState& a, const MetricState& b) {
    return a.name == b.name && a.is_list == b.is_list &&
           (a.is_list || (a.sum.sizes() == b.sum.sizes() && a.sum.scalar_type() == b.sum.scalar_type()));
  };
  if (!std::equal(states.begin(), states.end(), later.begin(), later.end(), fits))
    throw UsageError("merge: the metrics have other states; expected the same class with the same options");
  for (size_t i = 0; i < states.size(); ++i) {
    if (!states[i].is_list) states[i].sum.add_(later[i].sum.to(device));
    for (const at::Tensor& rows : later[i].rows) states[i].rows.push_back(rows.to(device));
  }
}

at::Tensor concatenate(const std::vector<at::Tensor>& rows) {
  if (rows.empty()) return {};
  return rows.size() == 1 ? rows[0] : at::cat(rows);
}

namespace {

/// The rows, columns and dtype of one list state of a rank; all 0 if it has no rows.
std::vector<std::vector<int64_t>> gather_layouts(const at::Tensor& mine, Comm& comm, c10::Device device) {
  std::vector<int64_t> layout(3, 0);
  if (mine.defined()) layout = {mine.size(0), mine.size(1), static_cast<int64_t>(mine.scalar_type())};
  std::vector<std::vector<int64_t>> layouts;
  for (const at::Tensor& theirs : comm.all_gather(at::tensor(layout, at::kLong).to(device))) {
    const at::Tensor on_host = theirs.to(at::kCPU);  // host sync
    const int64_t* values = on_host.const_data_ptr<int64_t>();
    layouts.emplace_back(values, values + 3);
  }
  return layouts;
}

/// Gathers rows, whose number may differ between ranks: all are padded to the longest.
std::vector<at::Tensor> gather_rows(const MetricState& state, Comm& comm, c10::Device device) {
  const at::Tensor mine = concatenate(state.rows);
  const auto layouts = gather_layouts(mine, comm, device);
  int64_t longest = 0, columns = 0;
  std::optional<at::ScalarType> dtype;
  for (const auto& layout : layouts) {
    if (layout[0] == 0) continue;
    if (columns != 0 && columns != layout[1])
      throw UsageError("sync: ranks have rows of ", columns, " and of ", layout[1], " columns in state ", state.name);
    longest = std::max(longest, layout[0]);
    columns = layout[1];
    const auto theirs = static_cast<at::ScalarType>(layout[2]);
    dtype = dtype ? c10::promoteTypes(*dtype, theirs) : theirs;
  }
  if (!dtype) return {};
  at::Tensor padded = at::zeros({longest, columns}, at::TensorOptions(*dtype).device(device));
  if (mine.defined()) padded.narrow(0, 0, mine.size(0)).copy_(mine);
  const std::vector<at::Tensor> gathered = comm.all_gather(padded);
  std::vector<at::Tensor> all;
  for (size_t rank = 0; rank < gathered.size(); ++rank)
    if (layouts[rank][0] != 0) all.push_back(gathered[rank].narrow(0, 0, layouts[rank][0]));
  return all;
}

}  // namespace

std::vector<MetricState> gather_states(const std::vector<MetricState>& states, Comm& comm, c10::Device device) {
  std::vector<MetricState> all = copy_states(states);
  for (MetricState& state : all) {
    if (state.is_list)
      state.rows = gather_rows(state, comm, device);
    else
      comm.all_reduce(state.sum, ReduceOp::Sum);
  }
  return all;
}

}  // namespace levin::metrics
