#include <levin/core/ranks/gather_states.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/state/state_file.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace levin {
namespace {

State state_in(const at::Tensor& gathered, int64_t size) {
  const at::Tensor on_cpu = gathered.cpu();  // host sync
  const std::string_view bytes(static_cast<const char*>(on_cpu.const_data_ptr()), static_cast<size_t>(size));
  return load_state_bytes(copy_file_bytes(bytes, "another rank's state"));
}

/// Returns one rank's bytes on every rank: uint8, one dimension.
at::Tensor bytes_of_rank(const std::string& own, int64_t rank, Comm& comm) {
  at::Tensor size = at::full({1}, static_cast<int64_t>(own.size()), at::TensorOptions(at::kLong));
  comm.broadcast(size, rank);
  at::Tensor bytes = at::zeros({size.item<int64_t>()}, at::TensorOptions(at::kByte));
  if (bytes.numel() == 0) return bytes;
  if (comm.rank() == rank) std::memcpy(bytes.mutable_data_ptr(), own.data(), own.size());
  comm.broadcast(bytes, rank);
  return bytes;
}

}  // namespace

std::vector<State> gather_states(const State& own, Comm& comm) {
  if (comm.world_size() == 1) return {own};
  const std::string bytes = save_state_bytes(own);
  const auto size = static_cast<int64_t>(bytes.size());
  std::vector<int64_t> sizes;
  for (const at::Tensor& one : comm.all_gather(at::full({1}, size, at::TensorOptions(at::kLong))))
    sizes.push_back(one.item<int64_t>());
  // all_gather needs tensors of equal shape.
  at::Tensor padded = at::zeros({*std::max_element(sizes.begin(), sizes.end())}, at::TensorOptions(at::kByte));
  std::memcpy(padded.data_ptr(), bytes.data(), bytes.size());
  const std::vector<at::Tensor> gathered = comm.all_gather(padded);
  std::vector<State> states;
  for (size_t rank = 0; rank < gathered.size(); ++rank) states.push_back(state_in(gathered[rank], sizes[rank]));
  return states;
}

State state_of_rank(const State& own, int64_t rank, Comm& comm) {
  const bool reads = comm.rank() == 0;
  if (rank == 0) return reads ? own : State();
  const at::Tensor bytes = bytes_of_rank(comm.rank() == rank ? save_state_bytes(own) : "", rank, comm);
  return reads ? state_in(bytes, bytes.numel()) : State();
}

int64_t largest_count(int64_t own, Comm& comm) {
  if (comm.processes() == 1) return own;
  const c10::InferenceMode normal_tensors(false);  // a thread of the process group writes to the message
  at::Tensor count = at::full({1}, own, at::TensorOptions(at::kLong));
  comm.all_reduce(count, ReduceOp::Max);
  return count.item<int64_t>();
}

std::string broadcast_text(const std::string& own, Comm& comm) {
  if (comm.processes() == 1) return own;
  const at::Tensor bytes = bytes_of_rank(own, 0, comm);
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel())};
}

}  // namespace levin
