#include <levin/trainer/strategies/ddp.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/parallel/ranks/backward_of_zeros.h>
#include <levin/modules/parallel/ranks/module_shapes.h>
#include <levin/modules/parallel/ranks/sync_batch_norm.h>
#include <levin/modules/weights.h>
#include <levin/trainer/strategies/idle_batch.h>
#include <levin/trainer/strategies/step_error.h>

#include <numeric>
#include <utility>

namespace levin {
namespace {

/// Returns a group of the same ranks: on a rank without a loss, batch norms and reductions come in another order.
std::unique_ptr<ProcessGroup> group_of_norms(ProcessGroup& group) {
  std::vector<int64_t> all(static_cast<size_t>(group.world_size()));
  std::iota(all.begin(), all.end(), 0);
  return group.subgroup(c10::str("batch_norms/", group.next_number()), all);
}

}  // namespace

DdpStrategy::DdpStrategy(const StrategyParts& parts, const DDPOptions& options)
    : DdpStrategy(*parts.ranks, parts.devices.front(), reducer_options(options, /*shards_optimizer=*/false),
                  parts.sync_batchnorm) {}

DdpStrategy::DdpStrategy(ProcessGroup& group, c10::Device device, parallel::DistributedDataParallelOptions options,
                         bool sync_batchnorm)
    : group_(group),
      device_(device),
      options_(options),
      norm_group_(sync_batchnorm ? group_of_norms(group) : nullptr),
      transfer_(device),
      rank_sync_(group) {
  options_.init_sync = false;  // `place` has already done it
}

std::string DdpStrategy::where() const { return c10::str(group_.world_size(), " ranks, this one on ", device_); }

void DdpStrategy::place(LightningModule& module) {
  module_ = &module;
  module.to(device_);
  // Even if nothing is trained: all ranks evaluate the same weights.
  parallel::synchronize_module(module, group_);
}

void DdpStrategy::attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) {
  if (optimizers.empty()) return;
  watch_ = optim::ParameterWatch(optimizers);
  reducer_.emplace(*module_, group_, options_);
}

void DdpStrategy::check_divisible(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers,
                                  const char* strategy) const {
  if (!module_->automatic_optimization)
    throw UsageError("strategy ", strategy,
                     " runs automatic optimization alone: a second backward would add to gradients of which each rank "
                     "has only its share; use ddp");
  if (optimizers.size() > 1)
    throw UsageError("strategy ", strategy, " divides the state of one optimizer, configure_optimizers returned ",
                     optimizers.size(), "; use ddp");
}

bool DdpStrategy::follow_parameters() {
  if (!reducer_) return false;
  const bool has_other_rows = reducer_->has_other_rows();
  if (has_other_rows) check_same_rows();
  const bool changed = watch_.has_changed() || has_other_rows || reducer_->has_unfrozen();
  if (changed) reducer_->follow_module();
  return changed;
}

void DdpStrategy::check_same_rows() {
  if (rank_sync_.is_same_on_ranks(static_cast<uint32_t>(parallel::hash_of_shapes(*module_)))) return;
  throw UsageError("ddp: ", parallel::difference_of_shapes(*module_, group_),
                   ": all ranks must change the rows of their parameters alike, from values that are the same on all "
                   "ranks; reduce what decides it over the ranks, or decide on rank 0 and broadcast");
}

StepOutput DdpStrategy::run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) {
  std::optional<parallel::SyncBatchNorm> synced;
  forget_norms();
  if (norm_group_) synced.emplace(*norm_group_, module_->automatic_optimization ? &norms_ : nullptr);
  follow_parameters();
  if (reducer_) reducer_->synchronize_buffers();
  return explain_step_errors(*module_, batch, device_, std::exchange(first_.training, false),
                             [&] { return function(*module_, batch, batch_idx); });
}

void DdpStrategy::run_idle(const std::set<LoggedMetric*>& metrics, const std::function<void()>& step) {
  run_idle_batch(*module_, *context_, metrics, step);
}

void DdpStrategy::begin_evaluation() {
  if (reducer_) reducer_->synchronize_buffers();
}

void DdpStrategy::run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) {
  explain_step_errors(*module_, batch, device_, std::exchange(first_.evaluation, false),
                      [&] { (module_->*kind)(batch, batch_idx); });
}

Batch DdpStrategy::run_predict_step(const Batch& batch, int64_t batch_idx) {
  return explain_step_errors(*module_, batch, device_, std::exchange(first_.prediction, false),
                             [&] { return module_->predict_step(batch, batch_idx); });
}

void DdpStrategy::backward(const at::Tensor& loss, bool sync) {
  forget_norms();
  if (!sync || !reducer_) return module_->backward(loss);
  DdpStrategy::follow_parameters();  // parameters that the step itself has added
  const at::Tensor prepared = reducer_->prepare(loss);
  reducer_->run_backward([&] { module_->backward(prepared); });
  reducer_->check_finished();
}

void DdpStrategy::backward_without_loss(bool sync) {
  if (!sync || !reducer_) return parallel::backward_of_zeros(take_norms());
  follow_parameters();
  reducer_->backward_without_loss(take_norms());
}

std::vector<at::Tensor> DdpStrategy::whole_parameters(const torch::optim::Optimizer& optimizer) const {
  return optim::detail::parameters_of(optimizer);
}

State DdpStrategy::optimizer_state(torch::optim::Optimizer& optimizer) {
  return optim::optimizer_state_dict(optimizer);
}

void DdpStrategy::load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) {
  optim::load_optimizer_state_dict(optimizer, state);
}

State DdpStrategy::weights() { return module_state_dict(*module_); }

State DdpStrategy::state_dict() {
  follow_parameters();  // the buckets are those of the next backward
  return reducer_ ? reducer_->state_dict() : State();
}

void DdpStrategy::load_state_dict(const State& state) {
  follow_parameters();  // groups may have been added in on_load_checkpoint
  // A state of zero1 has no buckets here.
  if (reducer_ && !state.is_none() && state.find("buckets") != nullptr) reducer_->load_state_dict(state);
}

}  // namespace levin
