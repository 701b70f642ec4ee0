#include <levin/modules/parallel/sharding/sharded_module.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/state/sharded_state.h>
#include <levin/core/system/error.h>
#include <levin/modules/observers/tensor_place.h>
#include <levin/modules/parallel/ranks/shard.h>
#include <levin/modules/parallel/sharding/gradient_means.h>
#include <levin/modules/parallel/sharding/sharded_gradients.h>
#include <levin/modules/weights.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace levin::parallel {
namespace {

/// In place of the hash of an order: this rank has no loss.
constexpr int64_t kNoLoss = -1;

c10::Device device_of(const torch::nn::Module& module) {
  const std::vector<at::Tensor> parameters = module.parameters();
  if (parameters.empty()) throw UsageError("fsdp: the module has no parameters; use one process");
  return parameters.front().device();
}

}  // namespace

ShardedModule::ShardedModule(torch::nn::Module& module, ProcessGroup& group, ShardingOptions options)
    : module_(module), group_(group), options_(options), pool_(device_of(module)) {
  make_groups();
  const UnwatchedScope unwatched;
  const c10::InferenceMode normal_tensors(false);  // an evaluation may be the first to use the module
  for (const UnitParameters& found : find_units(module)) {
    const size_t index = units_.size();
    units_.emplace_back(found, *shards_, pool_, options.gather_dtype, [this, index] { use(index); });
  }
  size_t largest = 0;
  for (const ShardedUnit& unit : units_) largest = std::max(largest, unit.bytes());
  used_.resize(units_.size());
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    kept_.push_back(is_small_unit(units_[unit].bytes(), largest));
    for (size_t block = 0; block < units_[unit].blocks().size(); ++block) {
      if (!units_[unit].blocks()[block].is_trained()) continue;
      blocks_.push_back(units_[unit].blocks()[block].memory());
      places_.push_back({.unit = unit, .block = block});
    }
  }
  gradients_ = std::make_unique<ShardedGradients>(
      units_, ShardedGradients::Groups{.shards = *reductions_, .replicas = replicas_.get(), .all = group}, pool_,
      options.find_unused_parameters, options.reduce_dtype,
      ShardedGradients::Hooks{.completed = [this](size_t unit) { release(unit); },
                              .finished = [this] { prefetch(std::exchange(postponed_, {})); }});
}

ShardedModule::~ShardedModule() = default;

void ShardedModule::make_groups() {
  const int64_t world_size = group_.world_size(), each = options_.hybrid_shard > 0 ? options_.hybrid_shard : world_size;
  if (world_size % each != 0)
    throw UsageError("fsdp: hybrid_shard ", each, " does not divide the ", world_size, " ranks");
  const int64_t first = group_.rank() / each * each;
  std::vector<int64_t> around, alike;
  for (int64_t rank = first; rank < first + each; ++rank) around.push_back(rank);
  for (int64_t rank = group_.rank() % each; rank < world_size; rank += each) alike.push_back(rank);
  const std::string name = c10::str("sharded/", group_.next_number(), "/");
  shards_ = group_.subgroup(c10::str(name, "gathers/", first), around);
  reductions_ = group_.subgroup(c10::str(name, "reductions/", first), around);
  if (each < world_size) replicas_ = group_.subgroup(c10::str(name, "replicas/", alike.front()), alike);
}

void ShardedModule::begin_pass(Pass pass) {
  order_ = pass == Pass::Training ? &training_ : &evaluation_;
  order_->begin();
  in_pass_ = true;
  for (size_t unit = 0; unit < units_.size(); ++unit)
    if (units_[unit].is_unrounded()) {
      units_[unit].release(/*keeps_memory=*/options_.keep_parameters);
      used_[unit] = false;
    }
}

void ShardedModule::use(size_t index) {
  ShardedUnit& unit = units_[index];
  const bool exactly = !in_pass_ && unit.gathers_rounded();
  if (used_[index] && (exactly ? unit.is_exact() : unit.is_present())) return;
  postponed_.reset();
  exactly ? unit.gather_exactly() : unit.begin_gather();
  unit.wait();
  used_[index] = true;
  order_->add(index);
  const std::optional<size_t> next = order_->next();
  for (size_t other = 0; other < units_.size(); ++other) {
    if (next == other) used_[other] = false;  // its next use counts, though it stays
    if (other != index && next != other && !kept_[other]) release(other);
  }
  if (!exactly) prefetch(next);
}

void ShardedModule::prefetch(std::optional<size_t> unit) {
  if (!unit) return;
  if (gradients_->is_reducing())
    postponed_ = unit;
  else
    units_[*unit].begin_gather();
}

void ShardedModule::release(size_t unit) {
  ShardedUnit& given = units_[unit];
  if (options_.keep_parameters || holds_all_ || !given.is_present() || given.is_in_use()) return;
  given.release();
  used_[unit] = false;
}

void ShardedModule::hold_all() {
  postponed_.reset();
  for (ShardedUnit& unit : units_) unit.release();
  for (ShardedUnit& unit : units_) {
    unit.begin_gather();
    unit.wait();
  }
  std::fill(used_.begin(), used_.end(), true);
  holds_all_ = true;
}

std::vector<size_t> ShardedModule::order_of_reductions() const {
  std::vector<size_t> order;
  const auto add = [&](size_t unit) {
    if (std::find(order.begin(), order.end(), unit) == order.end()) order.push_back(unit);
  };
  const std::vector<size_t>& forward = training_.units();
  std::for_each(forward.rbegin(), forward.rend(), add);
  for (size_t unit = units_.size(); unit-- > 0;) add(unit);
  return order;
}

void ShardedModule::begin_backward(bool has_loss, bool sync) {
  const bool reduces = sync || options_.reduce_each_batch;
  // Parameters that stay whole are not gathered in backward.
  if (!reduces && options_.keep_parameters) return gradients_->begin_backward();
  const UnwatchedScope unwatched;
  const std::vector<int64_t> hashes = orders_of_ranks(has_loss);
  check_order(hashes);
  const auto without = static_cast<size_t>(std::count(hashes.begin(), hashes.end(), kNoLoss));
  // A rank without a loss does not know when the others use which unit, so all units are gathered before backward.
  if (without > 0 && without < hashes.size()) hold_all();
  if (!reduces) return gradients_->begin_backward();
  std::vector<size_t> order = order_of_reductions();
  if (without > 0) {
    const auto source = std::find_if(hashes.begin(), hashes.end(), [](int64_t one) { return one != kNoLoss; });
    std::vector<int64_t> sent(order.begin(), order.end());
    at::Tensor message = at::from_blob(sent.data(), {static_cast<int64_t>(sent.size())}, at::kLong);
    group_.broadcast(message, source == hashes.end() ? 0 : source - hashes.begin());
    order.assign(sent.begin(), sent.end());
  }
  gradients_->begin_backward(std::move(order));
}

void ShardedModule::end_backward(bool has_loss) {
  gradients_->end_backward(has_loss);
  if (holds_all_ && !options_.keep_parameters) release_all();
  end_pass();
}

std::vector<int64_t> ShardedModule::orders_of_ranks(bool has_loss) {
  const int64_t own = has_loss ? int64_t{training_.hash()} : kNoLoss;
  std::vector<int64_t> hashes;
  for (const at::Tensor& one : group_.all_gather(at::full({1}, own, at::TensorOptions(at::kLong))))
    hashes.push_back(one.item<int64_t>());
  return hashes;
}

void ShardedModule::zero_grad() { gradients_->clear(); }

void ShardedModule::check_order(const std::vector<int64_t>& hashes) {
  int64_t first = kNoLoss;
  for (const int64_t hash : hashes) {
    if (hash == kNoLoss) continue;
    if (first == kNoLoss) first = hash;
    if (hash != first) refuse_orders();
  }
}

void ShardedModule::refuse_orders() {
  State names = State::list();
  for (const size_t unit : training_.units()) names.push_back(units_[unit].name());
  const std::vector<State> all = gather_states(names, group_);
  for (size_t rank = 1; rank < all.size(); ++rank)
    for (size_t i = 0; i <= std::min(all[0].size(), all[rank].size()); ++i) {
      const auto name = [&](size_t of) {
        return i < all[of].size() ? all[of].items()[i].to_string() : std::string("no further unit");
      };
      if (name(0) != name(rank))
        throw UsageError("fsdp: rank 0 used ", name(0), " where rank ", rank, " used ", name(rank),
                         ": all ranks must run the same parts of the module in the same order; use ddp with "
                         "find_unused_parameters if the parts depend on the data");
    }
  throw UsageError("fsdp: a rank without a loss has used other units than the others");
}

void ShardedModule::backward(const at::Tensor& loss, bool sync) {
  begin_backward(/*has_loss=*/true, sync);
  loss.backward();
  end_backward(/*has_loss=*/true);
}

void ShardedModule::backward_without_loss(bool sync) {
  begin_backward(/*has_loss=*/false, sync);
  end_backward(/*has_loss=*/false);
}

State ShardedModule::state_dict() {
  const UnwatchedScope unwatched;
  const at::NoGradGuard no_grad;
  std::unordered_map<TensorPlace, at::Tensor, TensorPlace::Hash> copies;
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    const bool was_present = units_[unit].is_present();
    units_[unit].gather_exactly();
    if (group_.rank() == 0)
      for (const ShardedBlock& block : units_[unit].blocks())
        for (const at::Tensor& parameter : block.memory().parameters)
          copies[TensorPlace(parameter)] = parameter.detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
    if (!was_present) release(unit);
  }
  State state = State::dict();
  if (group_.rank() != 0) return state;
  for (const auto& [name, value] : module_state_dict(module_).to_dict()) {
    const at::Tensor& tensor = value.to_tensor();
    const auto copy = copies.find(TensorPlace(tensor));
    state[name] = copy != copies.end() ? copy->second : tensor;
  }
  return state;
}

State ShardedModule::sharded_state_dict(State& shards, const std::string& key) const {
  const UnwatchedScope unwatched;
  const at::NoGradGuard no_grad;
  std::unordered_map<TensorPlace, std::string, TensorPlace::Hash> keys;
  for (const ShardedUnit& unit : units_)
    for (const ShardedBlock& block : unit.blocks()) {
      const MemoryBlock& memory = block.memory();
      const Shard own = shard_of(memory.size, shards_->rank(), shards_->world_size());
      int64_t offset = 0;
      for (size_t i = 0; i < memory.parameters.size(); ++i) {
        const at::Tensor& parameter = memory.parameters[i];
        const int64_t first = std::max(offset, own.begin), last = std::min(offset + parameter.numel(), own.end);
        const std::string& of_parameter = keys[TensorPlace(parameter)] = key + "/" + block.names()[i];
        if (first < last && holds_first_replica())
          shards[of_parameter] =
              tensor_slice(parameter, first - offset, memory.own.narrow(0, first - own.begin, last - first));
        offset += parameter.numel();
      }
    }
  State state = State::dict();
  for (const auto& [name, value] : module_state_dict(module_).to_dict()) {
    const at::Tensor& tensor = value.to_tensor();
    const auto found = keys.find(TensorPlace(tensor));
    state[name] = found != keys.end() ? shard_mark(found->second) : value;
  }
  return state;
}

State ShardedModule::gradient_means() const {
  if (!holds_first_replica()) return {};
  State parts;
  for (size_t unit = 0; unit < units_.size(); ++unit)
    for (size_t block = 0; block < units_[unit].blocks().size(); ++block) {
      const ShardedBlock& of_unit = units_[unit].blocks()[block];
      for (size_t i = 0; i < of_unit.names().size(); ++i) {
        const OwnPart own = of_unit.own_part(of_unit.memory().parameters[i]);
        const ShardPart part = {
            .parameter = i, .begin = own.begin, .in_shard = own.in_shard, .size = own.values.numel()};
        const at::Tensor mean = gradients_->gradient(unit, block, part);
        if (mean.defined()) parts[of_unit.names()[i]] = gradient_part(own.begin, mean);
      }
    }
  if (parts.is_none()) return {};
  return State::dict({{"ranks", group_.world_size()}, {"parts", std::move(parts)}});
}

void ShardedModule::load_gradient_means(const std::vector<State>& of_ranks) {
  const UnwatchedScope unwatched;
  const at::NoGradGuard no_grad;
  gradients_->load_means(GradientMeans(of_ranks, group_.world_size()));
}

void ShardedModule::restore() {
  gradients_.reset();
  for (ShardedUnit& unit : units_) unit.keep_whole();
  pool_.clear();
}

at::Tensor ShardedModule::gradient(const ShardPart& part) const {
  return gradients_->gradient(places_[part.block].unit, places_[part.block].block, part);
}

void ShardedModule::check() const {
  for (const ShardedUnit& unit : units_)
    for (const ShardedBlock& block : unit.blocks()) block.check();
}

void ShardedModule::shards_changed() { release_all(); }

void ShardedModule::release_all() {
  holds_all_ = false;
  postponed_.reset();
  for (ShardedUnit& unit : units_) unit.release(/*keeps_memory=*/options_.keep_parameters);
  std::fill(used_.begin(), used_.end(), false);
}

}  // namespace levin::parallel
