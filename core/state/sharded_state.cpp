#include <levin/core/state/sharded_state.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace levin {
namespace {

constexpr const char* kMark = "levin.divided";
constexpr const char* kSlice = "levin.slice";

bool is_tagged(const State& state, const char* tag, size_t size) {
  return state.is_tuple() && state.size() == size && state.items()[0].is_string() &&
         state.items()[0].to_string() == tag;
}

bool is_mark(const State& state) { return is_tagged(state, kMark, 2) && state.items()[1].is_string(); }
bool is_slice(const State& state) { return is_tagged(state, kSlice, 5); }

State state_of_numbers(at::IntArrayRef numbers) {
  State::Tuple all;
  for (const int64_t number : numbers) all.items.emplace_back(number);
  return all;
}

std::vector<int64_t> numbers_of(const State& state) {
  std::vector<int64_t> numbers;
  for (const State& number : state.items()) numbers.push_back(number.to_int());
  return numbers;
}

/// Returns the elements of a tensor of this shape; -1 if it would have gaps, or elements that share memory.
int64_t elements_without_gaps(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  if (sizes.size() != strides.size()) return -1;
  std::vector<std::pair<int64_t, int64_t>> dimensions;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1) return -1;
    if (sizes[i] > 1) dimensions.emplace_back(strides[i], sizes[i]);
  }
  std::sort(dimensions.begin(), dimensions.end());
  int64_t elements = 1;
  for (const auto& [stride, size] : dimensions)
    if (stride != elements || __builtin_mul_overflow(elements, size, &elements)) return -1;
  return elements;
}

class PartJoiner {
 public:
  PartJoiner(const std::vector<State>& parts, const JoinTensor& join) : parts_(parts), join_(join) {}

  void replace_marks(State& tree) {
    if (is_mark(tree)) {
      tree = value_of(tree.items()[1].to_string());
    } else if (tree.is_dict()) {
      for (auto& [key, value] : tree.to_dict()) replace_marks(value);
    } else if (tree.is_list()) {
      for (State& value : tree.items()) replace_marks(value);
    }
  }

 private:
  using Nodes = std::vector<const State*>;  ///< of one place in the parts that have it

  const State& value_of(const std::string& key) {
    const auto known = values_.find(key);
    if (known != values_.end()) return known->second;
    Nodes nodes;
    for (const State& part : parts_)
      if (const State* const node = part.find(key)) nodes.push_back(node);
    if (nodes.empty()) throw UsageError("no part holds ", key, "; the parts are not those of this checkpoint");
    return values_.emplace(key, joined(nodes, key)).first->second;
  }

  State joined(const Nodes& nodes, const std::string& place) const {
    if (is_slice(*nodes.front())) return joined_slices(nodes, place);
    if (!nodes.front()->is_dict()) return *nodes.front();
    std::vector<State::Key> keys;
    std::map<State::Key, Nodes> by_key;
    for (const State* const node : nodes)
      for (const auto& [key, value] : node->to_dict()) {
        Nodes& found = by_key[key];
        if (found.empty()) keys.push_back(key);
        found.push_back(&value);
      }
    if (std::all_of(keys.begin(), keys.end(), [](const auto& key) { return std::holds_alternative<int64_t>(key); }))
      std::sort(keys.begin(), keys.end());
    State dict = State::dict();
    for (const State::Key& key : keys)
      dict.to_dict().emplace_back(key, joined(by_key.at(key), place + "/" + to_text(key)));
    return dict;
  }

  State joined_slices(const Nodes& nodes, const std::string& place) const {
    ShardedTensor sharded;
    std::vector<std::pair<int64_t, at::Tensor>> slices;
    for (const State* const node : nodes) {
      if (!is_slice(*node)) throw UsageError(place, ": slices in some parts, and not in others");
      const State::List& items = node->items();
      std::vector<int64_t> sizes = numbers_of(items[1]), strides = numbers_of(items[2]);
      const at::Tensor& values = items[4].to_tensor();
      if (!slices.empty() && (sizes != sharded.sizes || strides != sharded.strides ||
                              values.scalar_type() != slices.front().second.scalar_type()))
        throw UsageError(place, ": the parts hold slices of different shapes or dtypes");
      sharded.sizes = std::move(sizes);
      sharded.strides = std::move(strides);
      if (values.dim() != 1 || !values.is_contiguous())
        throw UsageError(place, ": a slice has ", values.dim(), " dimensions or gaps, expected 1 dimension");
      slices.emplace_back(items[3].to_int(), values);
    }
    std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    int64_t end = 0;
    for (const auto& [begin, values] : slices) {
      if (begin != end) throw UsageError(place, ": the elements from ", end, " on are in no part, or in two");
      end += values.numel();
      sharded.slices.push_back(values);
    }
    const int64_t elements = elements_without_gaps(sharded.sizes, sharded.strides);
    if (end != elements) throw UsageError(place, ": the parts hold ", end, " elements of ", elements);
    return join_ ? join_(sharded) : joined_tensor(sharded);
  }

  const std::vector<State>& parts_;
  const JoinTensor& join_;
  std::map<std::string, State> values_ = {};
};

}  // namespace

at::Tensor joined_tensor(const ShardedTensor& sharded) {
  if (sharded.slices.size() == 1)
    return sharded.slices.front().as_strided(sharded.sizes, sharded.strides, sharded.slices.front().storage_offset());
  const at::NoGradGuard no_grad;
  at::Tensor whole = at::empty_strided(sharded.sizes, sharded.strides, sharded.slices.front().options());
  const at::Tensor flat = whole.as_strided({whole.numel()}, {1});
  int64_t begin = 0;
  for (const at::Tensor& slice : sharded.slices) {
    flat.narrow(0, begin, slice.numel()).copy_(slice);
    begin += slice.numel();
  }
  return whole;
}

at::Tensor tensor_without_memory(const ShardedTensor& sharded) {
  const at::TensorOptions options = sharded.slices.front().options();
  int64_t elements = 0;
  for (const at::Tensor& slice : sharded.slices) elements += slice.numel();
  const at::Storage storage(at::Storage::use_byte_size_t(), static_cast<size_t>(elements) * options.dtype().itemsize(),
                            c10::DataPtr(nullptr, at::kCPU), /*allocator=*/nullptr, /*resizable=*/false);
  return at::empty({0}, options).set_(storage, 0, sharded.sizes, sharded.strides);
}

State shard_mark(const std::string& key) { return State::Tuple{{kMark, key}}; }

bool has_shard_marks(const State& state) {
  if (is_mark(state)) return true;
  const auto has_marks = [](const auto& item) {
    if constexpr (requires { item.second; })
      return has_shard_marks(item.second);
    else
      return has_shard_marks(item);
  };
  if (state.is_dict()) return std::any_of(state.to_dict().begin(), state.to_dict().end(), has_marks);
  return state.is_list() && std::any_of(state.items().begin(), state.items().end(), has_marks);
}

State tensor_slice(const at::Tensor& whole, int64_t begin, const at::Tensor& values) {
  return State::Tuple{{kSlice, state_of_numbers(whole.sizes()), state_of_numbers(whole.strides()), begin, values}};
}

void join_shards(State& tree, const std::vector<State>& parts, const JoinTensor& join) {
  PartJoiner(parts, join).replace_marks(tree);
}

}  // namespace levin
