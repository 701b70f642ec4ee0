#include <levin/trainer/loops/automatic_step.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/batch_weight.h>
#include <levin/modules/optim/engine/repeats_closure.h>
#include <levin/trainer/strategies/step_error.h>

#include <utility>

namespace levin {
namespace {

void check_loss(const at::Tensor& loss) {
  if (loss.numel() != 1)
    throw UsageError("training_step: expected a loss with one element, got shape ", loss.sizes(),
                     "; return its mean() or sum()");
  if (!c10::isFloatingType(loss.scalar_type()))
    throw UsageError("training_step: the loss is a whole number (", loss.scalar_type(),
                     "), which has no gradient: a number of right answers is a metric, which log() takes; return a "
                     "floating-point loss that is computed from the network's outputs, such as cross_entropy");
  if (!loss.requires_grad())
    throw UsageError(
        "training_step: the loss has no gradient: nothing that it was computed from requires one. Is there a "
        "torch::NoGradGuard, a detach(), or are all parameters frozen? Return {} to skip a batch.");
}

}  // namespace

AutomaticStep::AutomaticStep(const StepParts& parts)
    : TrainingStep(parts),
      window_(parts.counters.window),
      closure_([this] { return compute_gradients(); }),
      gradient_clip_val_(parts.options->gradient_clip_val),
      gradient_clip_algorithm_(parts.options->gradient_clip_algorithm),
      zero_grad_overridden_(parts.overrides.has(ModuleMethod::optimizer_zero_grad)),
      returns_mean_(size() == 1 && optim::detail::repeats_closure(raw(0))),
      in_parts_([this](const Batch& batch) { return run_in_parts(batch); }),
      own_program_(make_step_program(parts)),
      program_(own_program_.get()) {
  if (size() > 1)
    throw UsageError("configure_optimizers returned ", size(),
                     " optimizers, and automatic optimization drives one; set automatic_optimization = false in the "
                     "module and step them in training_step");
}

TrainingStep::Outcome AutomaticStep::run(const Batch& batch, int64_t batch_idx, bool last_of_epoch,
                                         const BatchOnRanks& on_ranks, StepProgram* program) {
  batch_ = &batch;
  batch_idx_ = batch_idx;
  is_idle_ = on_ranks.is_idle;
  counts_ = !is_idle_;
  choose_program(program);
  enter(last_of_epoch);
  if (!run_whole()) run_micro_batch();
  return leave();
}

TrainingStep::Outcome AutomaticStep::finish_window() {
  batch_ = nullptr;
  is_idle_ = false;
  enter(/*last_of_epoch=*/true);
  run_micro_batch();
  return leave();
}

void AutomaticStep::enter(bool last_of_epoch) {
  window_.enter(parts_.counters.accumulate_grad_batches, last_of_epoch);
  closure_ran_ = stepped_ = updated_ = false;
  total_weight_ = 0;
  given_weight_.reset();
}

TrainingStep::Outcome AutomaticStep::leave() {
  optimizers_.end_step();
  window_.leave();
  return {.window_done = window_.is_last(),
          .stepped = stepped_,
          .skipped = stepped_ && !updated_,
          .weight = given_weight_,
          .counts = counts_ && !forward_only_,
          .window_weight = total_weight_};
}

void AutomaticStep::run_micro_batch() {
  if (!window_.is_last() || size() == 0 || forward_only_) {
    compute_gradients();
    return;
  }
  {
    const ProfileSpan span(parts_.profiler, Action::OptimizerStep);
    LightningOptimizer optimizer(*this, 0);
    parts_.module.optimizer_step(optimizer, closure_);
  }
  if (!closure_ran_)
    throw UsageError(
        "optimizer_step did not run the closure, so that no loss was computed; pass it to "
        "optimizer.step(closure), or call it");
}

void AutomaticStep::choose_program(StepProgram* given) {
  program_ = own_program_.get();
  if (given == nullptr && !forward_only_) return;
  // A callback that asks for batches that only run forward (SWA) has changed what forward does: how batch norms
  // average.
  program_->count_other(given != nullptr ? "the host computed the loss" : "batches only ran forward");
  program_ = given != nullptr ? given : &eager_;
}

bool AutomaticStep::run_whole() {
  const auto step =
      program_->run_whole({.batch = *batch_, .batch_idx = batch_idx_, .window = window_.size()}, in_parts_);
  if (!step) return false;
  set_output(step->output);
  total_weight_ = static_cast<double>(weight_of_batch(*batch_));
  window_.add(total_weight_);
  stepped_ = true;
  updated_ = !step->skipped;
  return true;
}

StepProgram::PartsOutput AutomaticStep::run_in_parts(const Batch& batch) {
  const Batch* const given = std::exchange(batch_, &batch);
  optimizers_.set_capturing(true);
  const auto as_before = c10::make_scope_exit([&] {
    batch_ = given;
    optimizers_.set_capturing(false);
  });
  run_micro_batch();
  StepProgram::PartsOutput left = {.output = output_, .found_inf = optimizers_.found_inf(0)};
  optimizers_.end_step();
  return left;
}

void AutomaticStep::refuse_second_closure() const {
  if (optimizers_.has_scaler())
    throw UsageError("the closure ran more than once in a step, and gradients are looked at once with precision ",
                     parts_.precision.name(), "; use bf16-mixed or 32-true");
  if (!window_.is_first())
    throw UsageError(
        "the optimizer evaluates its closure more than once in a step, which would add up the window's gradients "
        "again; set trainer.accumulate_grad_batches to 1");
}

at::Tensor AutomaticStep::compute_gradients() {
  if (std::exchange(closure_ran_, true)) refuse_second_closure();
  const at::Tensor loss =
      batch_ != nullptr ? compute_loss(program_->loss_of(*batch_), *batch_, batch_idx_) : at::Tensor();
  if (window_.is_first())
    for (size_t i = 0; i < size(); ++i) call_zero_grad(i);
  const double own = loss.defined() && !forward_only_ ? weight_of_output() : 0;  // an idle rank's too
  const double weight = is_idle_ ? 0 : own;
  counts_ = weight > 0 || (forward_only_ && !is_idle_);
  RankSync& sync = parts_.strategy.rank_sync();
  window_.add(weight, sync.reference_weight(weight, parts_.counters.reference_weight));
  std::optional<RankSync::PendingSum> total;
  if (window_.is_last()) total = sync.begin(window_.sum_of_weights());
  if (own > 0) {
    run_backward(loss, weight);
  } else if (!forward_only_) {
    parts_.strategy.backward_without_loss(/*sync=*/window_.is_last());
  }
  if (!total) return loss;
  total_weight_ = total->finish();
  for (size_t i = 0; i < size(); ++i) finish_gradients(i);
  return returns_mean_ ? sync.mean_loss(loss, weight) : loss;
}

void AutomaticStep::run_backward(const at::Tensor& loss, double weight) {
  if (program_->add_gradients(window_.loss_share(weight) / static_cast<double>(window_.size()))) {
    parts_.hooks.on_after_backward(parts_.run);
    return;
  }
  check_loss(loss);
  try {
    call_backward(optimizers_.scale(scaled(loss, weight)), /*sync=*/window_.is_last());
  } catch (const c10::Error& error) {
    throw_explained_backward(error, parts_.strategy.device());
  }
}

double AutomaticStep::weight_of_output() {
  given_weight_ = given_weight();  // host sync if it is on a GPU
  const double weight = given_weight_ ? *given_weight_ : static_cast<double>(weight_of_batch(*batch_));
  if (!(weight >= 0)) throw UsageError("training_step: expected a weight of at least 0, got ", weight);
  return weight;
}

at::Tensor AutomaticStep::scaled(const at::Tensor& loss, double weight) const {
  const double share = window_.loss_share(weight);
  at::Tensor scaled = share == 1 ? loss : loss * share;
  if (window_.size() > 1) scaled = scaled / window_.size();
  return scaled;
}

void AutomaticStep::call_zero_grad(size_t index) {
  parts_.hooks.on_before_zero_grad(parts_.run, raw(index));
  const ProfileSpan span(parts_.profiler, Action::OptimizerZeroGrad);
  if (zero_grad_overridden_) {
    LightningOptimizer optimizer(*this, index);
    parts_.module.optimizer_zero_grad(optimizer);
  } else {
    zero_grad(index);
  }
}

void AutomaticStep::finish_gradients(size_t index) {
  if (total_weight_ == 0) {
    // Nothing was learned: without gradients LibTorch's optimizers leave their parameters and state alone.
    zero_grad(index);
    return;
  }
  optimizers_.unscale(index, window_.gradient_factor(total_weight_, parts_.strategy.comm().world_size()));
  parts_.hooks.on_before_optimizer_step(parts_.run, raw(index));
  const ProfileSpan span(parts_.profiler, Action::ConfigureGradientClipping);
  LightningOptimizer optimizer(*this, index);
  parts_.module.configure_gradient_clipping(optimizer, gradient_clip_val_, gradient_clip_algorithm_);
}

void AutomaticStep::step(size_t index, const Closure& closure) {
  if (!optimizers_.has_scaler()) {
    updated_ = optimizers_.step(index, closure);
  } else {
    run_closure(closure);
    if (total_weight_ > 0) updated_ |= optimizers_.step(index);
  }
  stepped_ = total_weight_ > 0;
}

/// A module reaches this under manual optimization only.
void AutomaticStep::backward(const at::Tensor& loss) { call_backward(optimizers_.scale(loss), /*sync=*/true); }

}  // namespace levin
