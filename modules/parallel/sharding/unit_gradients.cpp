#include <levin/modules/parallel/sharding/unit_gradients.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <levin/core/ranks/rank_memory.h>
#include <levin/core/ranks/torch_compat/flat_collectives.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/ranks/reduction_hook.h>
#include <levin/modules/parallel/sharding/narrow_memory.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace levin::parallel {
namespace {

/// Returns a tensor of the size and dtype of a block, in a buffer.
at::Tensor in_buffer(const at::Tensor& buffer, size_t offset, const ShardedBlock& block) {
  const auto bytes = static_cast<int64_t>(block.bytes());
  return buffer.narrow(0, static_cast<int64_t>(offset), bytes).view(block.memory().own.scalar_type());
}

}  // namespace

UnitGradients::UnitGradients(ShardedUnit& unit, ProcessGroup& group, ProcessGroup* replicas, BufferPool& pool,
                             std::optional<at::ScalarType> sent_as, Listener& listener)
    : call_("reduction of " + unit.name()), group_(group), replicas_(replicas), pool_(pool), listener_(listener) {
  for (size_t place = 0; place < unit.blocks().size(); ++place) {
    ShardedBlock& of_unit = unit.blocks()[place];
    if (!of_unit.is_trained()) continue;
    const std::vector<at::Tensor>& parameters = of_unit.memory().parameters;
    Block& block = blocks_.emplace_back();
    block.place = place;
    block.block = &of_unit;
    block.offset = bytes_;
    block.sent_as = narrower(of_unit.memory().own.scalar_type(), sent_as);
    block.used.resize(parameters.size());
    block.arrived.resize(parameters.size());
    bytes_ += aligned(of_unit.bytes());
    parameters_ += parameters.size();
    for (size_t i = 0; i < parameters.size(); ++i) {
      Hooked& hooked = block.hooks.emplace_back();
      hooked.accumulator = torch::autograd::impl::grad_accumulator(parameters[i]);
      hooked.hook = hooked.accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
          [this, &block, i](const torch::autograd::variable_list& outputs, const torch::autograd::variable_list&) {
            arrived(block, i);
            return outputs;
          }));
    }
    // Ranks of one machine add what was sent in a narrow dtype in the wide one, as those over Gloo.
    const at::DeviceType device = of_unit.memory().own.device().type();
    block.scatters = has_reduce_scatter(*group_.raw(), device) && !(block.sent_as && share_memory(*group_.raw()));
  }
}

UnitGradients::~UnitGradients() {
  for (Block& block : blocks_)
    for (const Hooked& hooked : block.hooks) hooked.accumulator->del_post_hook(hooked.hook);
  drop_buffer();
}

void UnitGradients::begin_backward() {
  for (Block& block : blocks_) std::fill(block.arrived.begin(), block.arrived.end(), 0);
  missing_ = parameters_;
  is_sent_ = false;
}

void UnitGradients::take_buffer() {
  buffer_ = pool_.take(bytes_);
  for (Block& block : blocks_) {
    block.whole = in_buffer(buffer_, block.offset, *block.block);
    block.views.clear();
    int64_t offset = 0;
    for (const at::Tensor& parameter : block.block->memory().parameters) {
      block.views.push_back(
          block.whole.as_strided(parameter.sizes(), parameter.strides(), block.whole.storage_offset() + offset));
      offset += parameter.numel();
    }
  }
}

void UnitGradients::collect(const Block& block, size_t parameter) {
  at::Tensor of_parameter = block.block->memory().parameters[parameter];
  const at::Tensor& view = block.views[parameter];
  const at::Tensor& gradient = of_parameter.grad();
  if (gradient.defined() && !gradient.is_sparse() && gradient.is_alias_of(view)) return;
  if (gradient.defined())
    view.copy_(gradient.is_sparse() ? gradient.to_dense() : gradient);
  else
    view.zero_();
  of_parameter.mutable_grad() = view;
}

void UnitGradients::arrived(Block& block, size_t parameter) {
  const UnwatchedScope unwatched;
  const at::NoGradGuard no_grad;
  if (is_sent_)
    throw UsageError("fsdp: the parameter ", block.block->names()[parameter],
                     " got a second gradient in one backward, after the first was sent: is it used in several parts "
                     "that are checkpointed? Use it in one of them, or set trainer.activation_checkpointing to false");
  if (!buffer_.defined()) {
    listener_.before_buffer();
    take_buffer();
  }
  collect(block, parameter);
  block.used[parameter] = 1;
  if (std::exchange(block.arrived[parameter], 1) == 0 && --missing_ == 0) listener_.completed();
}

std::vector<std::string> UnitGradients::missing() const {
  std::vector<std::string> names;
  for (const Block& block : blocks_)
    for (size_t i = 0; i < block.arrived.size(); ++i)
      if (block.arrived[i] == 0) names.push_back(block.block->names()[i]);
  return names;
}

void UnitGradients::append_used(std::vector<uint8_t>& used) const {
  for (const Block& block : blocks_) used.insert(used.end(), block.used.begin(), block.used.end());
}

void UnitGradients::begin_reduction() {
  const UnwatchedScope unwatched;
  const at::NoGradGuard no_grad;
  if (!buffer_.defined()) take_buffer();
  is_sent_ = true;
  group_.guarded(call_.c_str(), [&] {
    for (Block& block : blocks_) {
      if (has_means_) block.before = std::exchange(block.own, {});
      for (size_t i = 0; i < block.views.size(); ++i) collect(block, i);
      const int64_t size = block.block->memory().size;
      block.whole.narrow(0, size, block.whole.numel() - size).zero_();
      const int64_t ranks = group_.world_size() * (replicas_ != nullptr ? replicas_->world_size() : 1);
      block.whole.mul_(1.0 / static_cast<double>(ranks));
      if (!block.own.defined()) block.own = at::empty_like(block.block->memory().own);
      begin_exchange(block);
    }
  });
}

void UnitGradients::begin_exchange(Block& block) {
  at::Tensor sent = block.sent_as ? narrow(block.whole, *block.sent_as) : block.whole;
  if (block.scatters) {
    block.received = block.sent_as ? at::empty_like(block.own, *block.sent_as) : block.own;
    works_.add(torch_compat::reduce_scatter_flat(*group_.raw(), block.received, sent));
    return;
  }
  if (!block.sent_as && !received_.defined()) received_ = pool_.take(bytes_);
  block.received =
      block.sent_as ? narrow_end(block.whole, *block.sent_as) : in_buffer(received_, block.offset, *block.block);
  works_.add(torch_compat::all_to_all_flat(*group_.raw(), block.received, sent));
}

void UnitGradients::finish_reduction() {
  if (!is_on_its_way()) return;
  const UnwatchedScope unwatched;
  const at::NoGradGuard no_grad;
  group_.guarded(call_.c_str(), [&] { works_.wait(); });
  for (Block& block : blocks_) {
    if (block.scatters) {
      if (block.sent_as) block.own.copy_(block.received);
      continue;
    }
    // In the order of the ranks, so that the sum is the same in each run.
    const int64_t each = block.own.numel();
    block.own.copy_(block.received.narrow(0, 0, each));
    for (int64_t rank = 1; rank < group_.world_size(); ++rank)
      block.own.add_(block.received.narrow(0, rank * each, each));
  }
  if (replicas_ != nullptr)
    for (Block& block : blocks_) replicas_->all_reduce(block.own, ReduceOp::Sum);
  for (Block& block : blocks_)
    if (block.before.defined()) block.own.add_(std::exchange(block.before, {}));
  has_means_ = true;
  drop_buffer();
}

const at::Tensor& UnitGradients::own(size_t block) const {
  static const at::Tensor kNone;
  if (has_means_)
    for (const Block& one : blocks_)
      if (one.place == block) return one.own;
  return kNone;
}

void UnitGradients::load_means(const GradientMeans& means) {
  for (Block& block : blocks_) {
    block.own = at::zeros_like(block.block->memory().own);
    for (size_t i = 0; i < block.used.size(); ++i) {
      if (!means.contains(block.block->names()[i])) continue;
      const OwnPart part = block.block->own_part(block.block->memory().parameters[i]);
      means.copy_to(block.block->names()[i], part.begin, block.own.narrow(0, part.in_shard, part.values.numel()));
      block.used[i] = 1;
    }
  }
  has_means_ = true;
}

void UnitGradients::drop_buffer() {
  for (Block& block : blocks_) {
    for (at::Tensor parameter : block.block->memory().parameters) parameter.mutable_grad().reset();
    block.views.clear();
    block.whole.reset();
    block.received.reset();
  }
  if (buffer_.defined()) pool_.give_back(std::exchange(buffer_, {}));
  if (received_.defined()) pool_.give_back(std::exchange(received_, {}));
}

void UnitGradients::clear() {
  drop_buffer();
  for (Block& block : blocks_) std::fill(block.used.begin(), block.used.end(), 0);
  has_means_ = false;
}

}  // namespace levin::parallel
