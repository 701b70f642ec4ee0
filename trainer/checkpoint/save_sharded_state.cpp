#include <levin/trainer/checkpoint/save_sharded_state.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/find_state_dict.h>
#include <levin/core/state/sharded_file.h>
#include <levin/core/state/sharded_state.h>
#include <levin/core/state/state_file.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace levin {
namespace {

/// Divides tensors among parts.
class StateSharder {
 public:
  explicit StateSharder(int64_t ranks) : parts_(static_cast<size_t>(ranks), State::dict()) {}

  /// Puts marks in place of the tensors in a tree of dicts. Those that have gaps, one element or none stay.
  void shard(State& state, const std::string& key) {
    if (state.is_dict())
      for (auto& [name, value] : state.to_dict()) shard(value, key + "/" + to_text(name));
    else if (state.is_tensor() && state.to_tensor().is_non_overlapping_and_dense() && state.to_tensor().numel() > 1)
      state = add_slices(state.to_tensor(), key);
  }
  const std::vector<State>& parts() const { return parts_; }

 private:
  State add_slices(const at::Tensor& tensor, const std::string& key) {
    const auto ranks = static_cast<int64_t>(parts_.size());
    const int64_t each = (tensor.numel() + ranks - 1) / ranks;
    const at::Tensor elements = tensor.as_strided({tensor.numel()}, {1});
    for (int64_t rank = 0; rank * each < tensor.numel(); ++rank) {
      const int64_t size = std::min(each, tensor.numel() - rank * each);
      parts_[static_cast<size_t>(rank)][key] =
          tensor_slice(tensor, rank * each, elements.narrow(0, rank * each, size).clone());
    }
    return shard_mark(key);
  }

  std::vector<State> parts_;
};

}  // namespace

void save_sharded_state(const State& state, const std::filesystem::path& path, int64_t ranks) {
  StateSharder sharder(ranks);
  State tree = state;
  const bool is_checkpoint = find_state_dict(tree) != nullptr;
  sharder.shard(is_checkpoint ? tree[kStateDict] : tree, kStateDict);
  if (const State* const optimizers = is_checkpoint ? tree.find("optimizer_states") : nullptr;
      optimizers != nullptr && optimizers->is_list()) {
    State::List& all = tree["optimizer_states"].items();
    for (size_t i = 0; i < all.size(); ++i) sharder.shard(all[i], "optimizer_states/" + std::to_string(i));
  }
  const ShardedIndex index = new_sharded_index(ranks);
  set_sharded_index(tree, index);
  for (int64_t rank = 0; rank < ranks; ++rank)
    save_state(part_of_checkpoint(index, rank, sharder.parts()[static_cast<size_t>(rank)]),
               part_file(path, index.save, rank, ranks));
  save_state(tree, path);
  remove_parts(path, index.save);
}

}  // namespace levin
