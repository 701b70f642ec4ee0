#include <levin/modules/parallel/ranks/sharded_optimizer.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <levin/modules/optim/optimizer.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/parallel/ranks/bucket_memory.h>
#include <levin/modules/parallel/ranks/shard.h>
#include <levin/modules/parallel/ranks/whole_updates.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace levin::parallel {

ShardedOptimizer::ShardedOptimizer(torch::optim::Optimizer& optimizer, const GradientReducer& reducer)
    : ShardedOptimizer(optimizer, std::make_unique<BucketMemory>(reducer), nullptr, reducer.group(), "zero1") {}

ShardedOptimizer::ShardedOptimizer(torch::optim::Optimizer& optimizer, ShardedMemory& memory, ProcessGroup& group,
                                   const char* strategy)
    : ShardedOptimizer(optimizer, nullptr, &memory, group, strategy) {}

ShardedOptimizer::ShardedOptimizer(torch::optim::Optimizer& optimizer, std::unique_ptr<BucketMemory> buckets,
                                   ShardedMemory* memory, ProcessGroup& ranks, const char* strategy)
    : FoundByOptimizer(optimizer),
      optimizer_(optimizer),
      buckets_(std::move(buckets)),
      memory_(memory != nullptr ? *memory : *buckets_),
      group_(ranks),
      strategy_(strategy),
      parameters_(optim::detail::parameters_of(optimizer)) {
  check(optimizer, strategy_);
  const State state = optimizer.state().empty() ? State() : optim::optimizer_state_dict(optimizer);
  for (const torch::optim::OptimizerParamGroup& group : optimizer.param_groups())
    group_sizes_.push_back(group.params().size());
  if (auto* const muon = dynamic_cast<optim::Muon*>(&optimizer)) muon->step_in_parts();
  make_parts();
  optimizer.state().clear();
  if (!state.is_none()) load_state_dict(state);
}

ShardedOptimizer::~ShardedOptimizer() = default;

void ShardedOptimizer::check(const torch::optim::Optimizer& optimizer, const std::string& strategy) {
  if (!optim::is_elementwise(optimizer) && dynamic_cast<const optim::Muon*>(&optimizer) == nullptr)
    throw UsageError(strategy,
                     ": this optimizer does not step each element by itself, so that its state cannot be divided among "
                     "the ranks; use one that does (SGD, Adam, AdamW, RMSprop, ...), or ddp");
}

void ShardedOptimizer::for_each_part(
    const std::function<void(const at::Tensor& parameter, int64_t begin, const at::Tensor& part)>& visit) const {
  for (const Part& part : parts_) visit(parameters_[part.parameter], part.place.begin, part.values);
}

std::vector<std::vector<at::Tensor>> ShardedOptimizer::whole_groups() const {
  std::vector<std::vector<at::Tensor>> groups;
  auto next = parameters_.begin();
  for (const size_t size : group_sizes_) {
    groups.emplace_back(next, next + static_cast<std::ptrdiff_t>(size));
    next += static_cast<std::ptrdiff_t>(size);
  }
  // Groups that were added since the last step are not divided yet.
  for (size_t g = group_sizes_.size(); g < optimizer_.param_groups().size(); ++g)
    groups.push_back(optimizer_.param_groups()[g].params());
  return groups;
}

bool ShardedOptimizer::has_rows_of(const at::Tensor& parameter) const {
  return std::any_of(parameters_.begin(), parameters_.end(), [&](const auto& one) { return one.is_same(parameter); });
}

void ShardedOptimizer::prepare(const at::Tensor& parameter, const optim::detail::RowChange& /*change*/,
                               optim::detail::RowCommit& /*commit*/) {
  throw UsageError(strategy_, ": the rows of a parameter of shape ", parameter.sizes(),
                   " cannot change, since its state is divided among the ranks; use ddp");
}

void ShardedOptimizer::follow() {
  check_groups();
  const std::vector<torch::optim::OptimizerParamGroup>& groups = optimizer_.param_groups();
  for (size_t g = group_sizes_.size(); g < groups.size(); ++g) {
    const optim::detail::RowLock lock;
    group_sizes_.push_back(groups[g].params().size());
    parameters_.insert(parameters_.end(), groups[g].params().begin(), groups[g].params().end());
  }
  if (buckets_) buckets_->follow();
  std::set<const void*> trained;
  for (const MemoryBlock& block : memory_.blocks())
    for (const at::Tensor& parameter : block.parameters) trained.insert(parameter.unsafeGetTensorImpl());
  for (const at::Tensor& parameter : parameters_)
    if (parameter.requires_grad() && trained.count(parameter.unsafeGetTensorImpl()) == 0)
      throw UsageError(strategy_, ": a parameter of shape ", parameter.sizes(),
                       " was added to the optimizer that is none of the module's; register it in the module, or use "
                       "ddp");
  make_parts();
}

void ShardedOptimizer::reshard() {
  check_groups();
  parts_.clear();
  if (buckets_) buckets_->begin_again();
  make_parts();
  optimizer_.state().clear();
}

/// Checks that the sharded groups hold this rank's parts, as make_parts left them.
void ShardedOptimizer::check_groups() const {
  const std::vector<torch::optim::OptimizerParamGroup>& groups = optimizer_.param_groups();
  size_t part = 0, end = 0;
  bool is_ours = groups.size() >= group_sizes_.size();
  for (size_t g = 0; is_ours && g < group_sizes_.size(); ++g) {
    end += group_sizes_[g];
    for (const at::Tensor& held : groups[g].params()) {
      is_ours = is_ours && part < parts_.size() && parts_[part].parameter < end && held.is_same(parts_[part].values);
      ++part;
    }
    is_ours = is_ours && (part == parts_.size() || parts_[part].parameter >= end);
  }
  if (!is_ours)
    throw UsageError(strategy_,
                     ": the optimizer's groups hold this rank's parts of the parameters, and were changed; add groups "
                     "with add_param_group, or use ddp to exchange tensors in param_groups");
}

/// Replaces the parameters in the optimizer's groups by this rank's parts. Existing parts keep their tensor objects,
/// since the optimizer's state is keyed by tensor.
void ShardedOptimizer::make_parts() {
  const at::NoGradGuard no_grad;
  const optim::detail::RowLock lock;
  std::unordered_map<const void*, size_t> places;
  for (size_t i = 0; i < parameters_.size(); ++i) places[parameters_[i].unsafeGetTensorImpl()] = i;
  std::unordered_map<size_t, at::Tensor> known;
  for (const Part& part : parts_) known[part.parameter] = part.values;
  parts_.clear();
  for (size_t b = 0; b < memory_.blocks().size(); ++b) {
    const MemoryBlock& block = memory_.blocks()[b];
    const Shard own = shard_of(block.size, group_.rank(), group_.world_size());
    int64_t offset = 0;
    for (size_t i = 0; i < block.parameters.size(); ++i) {
      const int64_t numel = block.parameters[i].numel();
      const int64_t first = std::max(offset, own.begin), last = std::min(offset + numel, own.end);
      const auto place = places.find(block.parameters[i].unsafeGetTensorImpl());
      if (first < last && place != places.end()) {
        at::Tensor& values = known[place->second];
        if (!values.defined()) values = block.own.narrow(0, first - own.begin, last - first).requires_grad_();
        parts_.push_back({.parameter = place->second,
                          .place = {.block = b,
                                    .parameter = i,
                                    .begin = first - offset,
                                    .in_shard = first - own.begin,
                                    .size = last - first},
                          .values = values});
      }
      offset += numel;
    }
  }
  std::stable_sort(parts_.begin(), parts_.end(),
                   [](const Part& a, const Part& b) { return a.parameter < b.parameter; });
  auto part = parts_.begin();
  size_t end = 0;
  for (size_t g = 0; g < group_sizes_.size(); ++g) {
    std::vector<at::Tensor>& held = optimizer_.param_groups()[g].params();
    end += group_sizes_[g];
    held.clear();
    for (; part != parts_.end() && part->parameter < end; ++part) held.push_back(part->values);
  }
  if (auto* const ours = dynamic_cast<optim::Optimizer*>(&optimizer_)) {
    std::vector<optim::Optimizer::Part> told;
    for (const Part& one : parts_) told.push_back({one.values, one.place.begin, parameters_[one.parameter].numel()});
    ours->set_parts(told);
  }
}

void ShardedOptimizer::zero_grad() {
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
  for (Part& part : parts_) part.values.mutable_grad().reset();
}

void ShardedOptimizer::take_gradients() {
  for (Part& part : parts_) part.values.mutable_grad() = memory_.gradient(part.place);
}

at::Tensor ShardedOptimizer::step(const torch::optim::Optimizer::LossClosure& closure) {
  memory_.check();
  check_groups();
  const at::Tensor loss = optimizer_.step([&] {
    const at::Tensor of_closure = closure ? closure() : at::Tensor();
    // Groups added before the closure ran are already sharded by `follow`.
    if (optimizer_.param_groups().size() != group_sizes_.size())
      throw UsageError(strategy_,
                       ": a group was added to the optimizer inside a step; add it in a hook before training_step");
    return of_closure;
  });
  add_whole_updates();
  memory_.shards_changed();
  return loss;
}

void ShardedOptimizer::add_whole_updates() {
  auto* const muon = dynamic_cast<optim::Muon*>(&optimizer_);
  if (muon == nullptr) return;
  std::unordered_set<const void*> matrices;
  const std::vector<std::vector<at::Tensor>> groups = whole_groups();
  for (size_t g = 0; g < groups.size(); ++g)
    if (optim::Muon::has_options(optimizer_.param_groups()[g].options()))
      for (const at::Tensor& matrix : groups[g]) matrices.insert(matrix.unsafeGetTensorImpl());
  std::unordered_map<const void*, const ShardPart*> places;
  for (const Part& part : parts_) places[part.values.unsafeGetTensorImpl()] = &part.place;
  parallel::add_whole_updates(
      *muon, memory_, group_,
      [&](const at::Tensor& part) -> const ShardPart& { return *places.at(part.unsafeGetTensorImpl()); },
      [&](const at::Tensor& parameter) { return matrices.contains(parameter.unsafeGetTensorImpl()); });
}

at::Tensor ShardedOptimizer::norm_of_all(const at::Tensor& norm_of_share) const {
  at::Tensor squared = norm_of_share.to(at::kDouble).square();
  group_.all_reduce(squared, ReduceOp::Sum);
  return squared.sqrt_().to(norm_of_share.scalar_type());
}

std::vector<at::Tensor> ShardedOptimizer::whole_parameters() const {
  std::vector<at::Tensor> parameters;
  for (const Part& part : parts_) parameters.push_back(parameters_[part.parameter]);
  return parameters;
}

}  // namespace levin::parallel
