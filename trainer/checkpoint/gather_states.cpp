#include <levin/trainer/checkpoint/gather_states.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/pickle_to_state.h>
#include <levin/trainer/core/state_to_pickle.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace levin {
namespace {

constexpr const char* kSource = "another rank's state";

const at::TensorOptions kBytes = at::TensorOptions(at::kByte);

/// Lengths and contents in turn: the pickle, then each storage.
std::string packed(const State& state) {
  const PickledState pickled = state_to_pickle(state);
  std::string bytes;
  const auto append = [&](const void* data, size_t size) {
    const auto length = static_cast<uint64_t>(size);
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
    bytes.append(static_cast<const char*>(data), size);
  };
  append(pickled.pickle.data(), pickled.pickle.size());
  for (const at::Tensor& storage : pickled.storages) {
    const at::Tensor on_cpu = storage.cpu();  // host sync
    append(on_cpu.nbytes() > 0 ? on_cpu.const_data_ptr() : "", on_cpu.nbytes());
  }
  return bytes;
}

State unpacked(std::string_view bytes) {
  std::vector<std::string_view> parts;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes.remove_prefix(sizeof length);
    if (length > bytes.size()) throw Error(kSource, " came incomplete");
    parts.push_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (parts.empty()) throw Error(kSource, " came empty");
  const StorageLoader storage = [&](const std::string& key, size_t) {
    const std::string_view part = parts.at(std::stoul(key) + 1);
    at::Tensor copy = at::empty({static_cast<int64_t>(part.size())}, kBytes);
    std::memcpy(copy.data_ptr(), part.data(), part.size());
    return copy.storage();
  };
  const PickleGraph graph = read_pickle(parts[0], kSource);
  return pickle_to_state(*graph.root, PickleAccess(kSource), storage, parts[0].size());
}

}  // namespace

std::vector<State> gather_states(const State& own, Comm& comm) {
  if (comm.world_size() == 1) return {own};
  const std::string bytes = packed(own);
  const auto size = static_cast<int64_t>(bytes.size());
  std::vector<int64_t> sizes;
  for (const at::Tensor& one : comm.all_gather(at::full({1}, size, at::TensorOptions(at::kLong))))
    sizes.push_back(one.item<int64_t>());
  // Ranks can only gather tensors of one shape.
  at::Tensor padded = at::empty({*std::max_element(sizes.begin(), sizes.end())}, kBytes).zero_();
  std::memcpy(padded.data_ptr(), bytes.data(), bytes.size());
  const std::vector<at::Tensor> gathered = comm.all_gather(padded);
  std::vector<State> states;
  for (size_t rank = 0; rank < gathered.size(); ++rank)
    states.push_back(
        unpacked({static_cast<const char*>(gathered[rank].const_data_ptr()), static_cast<size_t>(sizes[rank])}));
  return states;
}

}  // namespace levin
