#include <levin/trainer/strategies/ddp.h>
#include <ATen/ops/zeros.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/parallel/ranks/sync_batch_norm.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/strategies/step_error.h>
#include <torch/optim/lbfgs.h>

#include <cmath>
#include <utility>

namespace levin {
namespace {

constexpr int64_t kBits = 64;
/// The kind in each message: from the sum over all ranks each can tell whether all have sent the same kind.
constexpr double kOfWeights = 1, kOfRequests = 1 << 20;

}  // namespace

DdpStrategy::DdpStrategy(ProcessGroup& group, c10::Device device, parallel::DistributedDataParallelOptions options,
                         bool sync_batchnorm)
    : group_(group), device_(device), options_(options), sync_batchnorm_(sync_batchnorm), transfer_(device) {
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
  for (const auto& optimizer : optimizers)
    if (dynamic_cast<const torch::optim::LBFGS*>(optimizer.get()))
      throw UsageError("strategy ", name(),
                       " does not run LBFGS, which evaluates a batch as often as its own gradients ask for; use one "
                       "device");
  if (optimizers.empty()) return;
  watch_ = optim::ParameterWatch(optimizers);
  reducer_.emplace(*module_, group_, options_);
}

bool DdpStrategy::follow_parameters() {
  if (!reducer_) return false;
  const bool changed = watch_.has_changed() || reducer_->has_unfrozen();
  if (changed) reducer_->follow_module();
  return changed;
}

StepOutput DdpStrategy::run_step(const Batch& batch, int64_t batch_idx) {
  std::optional<parallel::SyncBatchNorm> synced;
  if (sync_batchnorm_) synced.emplace(group_);
  follow_parameters();
  if (reducer_) reducer_->synchronize_buffers();
  return explain_step_errors(*module_, batch, device_, std::exchange(first_.training, false),
                             [&] { return module_->training_step(batch, batch_idx); });
}

void DdpStrategy::begin_evaluation() {
  if (reducer_) reducer_->synchronize_buffers();
}

void DdpStrategy::run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx,
                                      int64_t dataloader_idx) {
  explain_step_errors(*module_, batch, device_, std::exchange(first_.evaluation, false),
                      [&] { (module_->*kind)(batch, batch_idx, dataloader_idx); });
}

Batch DdpStrategy::run_predict_step(const Batch& batch, int64_t batch_idx, int64_t dataloader_idx) {
  return explain_step_errors(*module_, batch, device_, std::exchange(first_.prediction, false),
                             [&] { return module_->predict_step(batch, batch_idx, dataloader_idx); });
}

void DdpStrategy::backward(const at::Tensor& loss, bool sync) {
  if (!sync || !reducer_) return module_->backward(loss);
  DdpStrategy::follow_parameters();  // parameters that the step itself has added
  const at::Tensor prepared = reducer_->prepare(loss);
  group_.guarded("backward", [&] { module_->backward(prepared); });
  reducer_->check_finished();
}

void DdpStrategy::backward_of_nothing() {
  if (!reducer_) return;
  follow_parameters();
  reducer_->backward_of_nothing();
}

at::Tensor DdpStrategy::message(double kind, double weight, uint64_t bits) const {
  at::Tensor message = at::zeros({2 + kBits}, at::TensorOptions(at::kDouble));
  auto* const values = message.mutable_data_ptr<double>();
  values[0] = weight;
  values[1] = kind;
  for (int64_t i = 0; i < kBits; ++i) values[2 + i] = (bits >> i) & 1 ? 1.0 : 0.0;
  return message;
}

uint64_t DdpStrategy::bits_of(const at::Tensor& message, double kind) const {
  uint64_t bits = 0;
  const auto* const values = message.const_data_ptr<double>();
  const bool all_of_weights = values[1] < kOfRequests, all_of_requests = std::fmod(values[1], kOfRequests) == 0;
  if (kind == kOfWeights ? !all_of_weights : !all_of_requests)
    throw Error("rank ", group_.rank(), " of ", group_.world_size(), ": another rank is not in the same place: it ",
                kind == kOfWeights ? "does not end a window" : "ends a window",
                " here; do all ranks make the same steps, and call together what all must call?");
  for (int64_t i = 0; i < kBits; ++i) bits |= uint64_t{values[2 + i] > 0} << i;
  return bits;
}

void DdpStrategy::begin_sum_of_weights(double own) {
  sent_ = message(kOfWeights, own, std::exchange(own_bits_, 0));
  arrived_ = group_.begin_all_reduce(sent_);
}

double DdpStrategy::sum_of_weights() {
  std::exchange(arrived_, nullptr)();
  agreed_bits_ |= bits_of(sent_, kOfWeights);
  return *sent_.const_data_ptr<double>();
}

uint64_t DdpStrategy::agree(uint64_t bits) {
  own_bits_ |= bits;
  return std::exchange(agreed_bits_, 0);
}

uint64_t DdpStrategy::agree_now(uint64_t bits) {
  at::Tensor asked = message(kOfRequests, 0, bits | std::exchange(own_bits_, 0));
  group_.all_reduce(asked, ReduceOp::Sum);
  return bits_of(asked, kOfRequests) | std::exchange(agreed_bits_, 0);
}

State DdpStrategy::optimizer_state(torch::optim::Optimizer& optimizer) { return optimizer_state_dict(optimizer); }

void DdpStrategy::load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) {
  load_optimizer_state_dict(optimizer, state);
}

State DdpStrategy::state_dict() const { return reducer_ ? reducer_->state_dict() : State(); }

void DdpStrategy::load_state_dict(const State& state) {
  follow_parameters();  // groups may have been added in on_load_checkpoint
  // A state of zero1 has no buckets here.
  if (reducer_ && !state.is_none() && state.find("buckets") != nullptr) reducer_->load_state_dict(state);
}

}  // namespace levin
