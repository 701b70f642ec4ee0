#include <levin/trainer/strategies/fsdp.h>
#include <levin/core/system/error.h>
#include <levin/core/system/heap.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/parallel/ranks/backward_of_zeros.h>
#include <levin/modules/weights.h>

#include <algorithm>
#include <utility>

namespace levin {

FsdpStrategy::FsdpStrategy(ProcessGroup& group, c10::Device device, const FSDPOptions& options, int64_t sharing_ranks,
                           bool sync_batchnorm)
    : DdpStrategy(group, device, {}, sync_batchnorm),
      sharding_(sharding_options(options, sharing_ranks)),
      saves_shards_(options.state_dict_type == StateDictType::Sharded) {}

void FsdpStrategy::configure_model(LightningModule& module) {
  construction_.emplace(group());
  new_tensors_.emplace(*construction_);
  DdpStrategy::configure_model(module);
}

void FsdpStrategy::place(LightningModule& module) {
  module.to(device());
  new_tensors_.reset();
  if (construction_) construction_->divide();
  const parallel::UnwatchedScope unwatched;
  DdpStrategy::place(module);
}

parallel::ShardedModule& FsdpStrategy::sharded() {
  if (!sharded_) {
    sharded_.emplace(module(), group(), sharding_);
    if (construction_) construction_->make_whole();  // large buffers
    construction_.reset();
    attach_adapters(module());  // the parameters have other memory now
    return_free_memory();       // that of the whole parameters
    for (const at::Tensor& parameter : module().parameters())
      parameters_.emplace_back(parameter, parameter.requires_grad());
  }
  return *sharded_;
}

void FsdpStrategy::attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) {
  check_divisible(optimizers, "fsdp");
  if (!optimizers.empty()) optimizer_.emplace(*optimizers.front(), sharded(), sharded().shard_group(), "fsdp");
}

bool FsdpStrategy::follow_parameters() {
  const std::vector<at::Tensor> now = module().parameters();
  const bool is_as_before =
      now.size() == parameters_.size() &&
      std::equal(now.begin(), now.end(), parameters_.begin(), [](const at::Tensor& one, const auto& before) {
        return one.is_same(before.first) && one.requires_grad() == before.second;
      });
  if (!is_as_before)
    throw UsageError(
        "strategy fsdp: parameters were added, replaced, frozen or unfrozen after configure_optimizers, when they were "
        "divided among the ranks; do it before, or use ddp or zero1");
  return false;
}

StepOutput FsdpStrategy::run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) {
  sharded().begin_pass(parallel::ShardedModule::Pass::Training);
  parallel::broadcast_buffers(module(), group(), /*source=*/0);
  return DdpStrategy::run_step(function, batch, batch_idx);
}

void FsdpStrategy::begin_evaluation() {
  sharded();
  parallel::broadcast_buffers(module(), group(), /*source=*/0);
}

void FsdpStrategy::run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) {
  sharded().begin_pass(parallel::ShardedModule::Pass::Evaluation);
  DdpStrategy::run_evaluation_step(kind, batch, batch_idx);
  sharded().end_pass();
}

Batch FsdpStrategy::run_predict_step(const Batch& batch, int64_t batch_idx) {
  sharded().begin_pass(parallel::ShardedModule::Pass::Evaluation);
  Batch prediction = DdpStrategy::run_predict_step(batch, batch_idx);
  sharded().end_pass();
  return prediction;
}

void FsdpStrategy::backward(const at::Tensor& loss, bool sync) {
  forget_norms();
  sharded().begin_backward(/*has_loss=*/true, sync);
  module().backward(loss);
  sharded().end_backward(/*has_loss=*/true);
  if (sync && optimizer_) optimizer_->take_gradients();
}

void FsdpStrategy::backward_without_loss(bool sync) {
  sharded().begin_backward(/*has_loss=*/false, sync);
  parallel::backward_of_zeros(take_norms());
  sharded().end_backward(/*has_loss=*/false);
  if (sync && optimizer_) optimizer_->take_gradients();
}

bool FsdpStrategy::load_gradient_means(const std::vector<State>& of_ranks) {
  if (!optimizer_) return false;
  sharded().load_gradient_means(of_ranks);
  optimizer_->take_gradients();
  return true;
}

void FsdpStrategy::zero_grad(torch::optim::Optimizer& /*optimizer*/) {
  sharded().zero_grad();
  optimizer_->zero_grad();
}

void FsdpStrategy::step(torch::optim::Optimizer& /*optimizer*/, const Closure& closure) { optimizer_->step(closure); }

State FsdpStrategy::weights() { return sharded_ ? sharded_->state_dict() : module_state_dict(module()); }

parallel::ShardedOptimizer& FsdpStrategy::sharded_optimizer() {
  if (!optimizer_)
    throw UsageError("strategy fsdp gives the optimizer's state up when the run ends; save during the run");
  return *optimizer_;
}

State FsdpStrategy::sharded_weights(State& shards, const std::string& key) {
  return sharded_ ? sharded_->sharded_state_dict(shards, key) : module_state_dict(module());
}

State FsdpStrategy::sharded_optimizer_state(torch::optim::Optimizer& /*optimizer*/, State& shards) {
  State none;
  return sharded_optimizer().sharded_state_dict(sharded().holds_first_replica() ? shards : none);
}

void FsdpStrategy::give_back() {
  optimizer_.reset();
  if (sharded_) sharded_->restore();
  sharded_.reset();
}

}  // namespace levin
