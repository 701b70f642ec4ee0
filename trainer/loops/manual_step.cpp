#include <levin/trainer/loops/manual_step.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <levin/core/system/error.h>
#include <levin/modules/autocast.h>
#include <levin/modules/optim/engine/repeats_closure.h>

#include <optional>

namespace levin {
namespace {

/// While it lives, what a step does besides forward runs outside of its autocast, as under automatic optimization.
class OutsideAutocast {
 public:
  explicit OutsideAutocast(c10::DeviceType device) {
    if (at::autocast::is_autocast_enabled(device)) off_.emplace(device, std::nullopt, /*enabled=*/false);
  }
  /// Returns the closure that computes as where the object was made.
  Closure inside(const Closure& closure) const {
    if (!closure || !off_) return closure;
    return [this, closure] {
      const AutocastGuard guard(before_);
      return closure();
    };
  }

 private:
  AutocastState before_ = {};
  std::optional<Autocast> off_ = {};
};

}  // namespace

ManualStep::ManualStep(const StepParts& parts) : TrainingStep(parts) {
  const ResolvedOptions& options = parts.options;
  if (options->gradient_clip_val.value_or(0) > 0)
    throw UsageError(
        "trainer.gradient_clip_val: manual optimization clips itself; unset it and call "
        "optimizer(i).clip_gradients(",
        *options->gradient_clip_val, ") before optimizer(i).step()");
  if (options->accumulate_grad_batches > 1)
    throw UsageError(
        "trainer.accumulate_grad_batches: manual optimization accumulates itself; set it to 1 and step "
        "every ",
        options->accumulate_grad_batches, " batches in training_step");
  if (options->cuda_graphs)
    throw UsageError("trainer.cuda_graphs: manual optimization cannot be captured; set cuda_graphs to false");
  if (!options->compiled_step.empty())
    throw UsageError("trainer.compiled_step: manual optimization calls backward itself; leave compiled_step unset");
}

TrainingStep::Outcome ManualStep::run(const Batch& batch, int64_t batch_idx, bool /*last_of_epoch*/,
                                      const BatchOnRanks& on_ranks, StepProgram* program) {
  on_ranks_ = on_ranks;
  counts_ = !on_ranks.is_idle;
  stepped_ = updated_ = false;
  parts_.counters.window = {};
  compute_loss(program != nullptr ? *program : eager_, batch, batch_idx);
  optimizers_.end_step();
  return {.window_done = true, .stepped = stepped_, .skipped = stepped_ && !updated_, .weight = given_weight()};
}

void ManualStep::step(size_t index, const Closure& given) {
  const ProfileSpan span(parts_.profiler, Action::ManualOptimizerStep);
  const OutsideAutocast outside(parts_.strategy.device().type());
  const Closure closure = outside.inside(given);
  const bool scales = optimizers_.has_scaler();
  if (scales) {
    run_closure(closure);
    optimizers_.unscale_once(index);
  }
  parts_.hooks.on_before_optimizer_step(parts_.run, raw(index));
  updated_ |= optimizers_.step(index, scales ? nullptr : on_all_ranks(index, closure));
  stepped_ = true;
}

/// An optimizer that decides by the loss gets the mean of all ranks, so that they decide alike.
Closure ManualStep::on_all_ranks(size_t index, const Closure& closure) {
  if (!closure || parts_.strategy.comm().world_size() == 1 || !optim::detail::repeats_closure(raw(index)))
    return closure;
  return [this, closure] {
    const at::Tensor loss = closure();
    return parts_.strategy.rank_sync().mean_loss(loss, on_ranks_.is_idle ? 0 : 1);
  };
}

/// The strategy averages over all ranks; this factor makes that the mean over the ranks that have a batch.
at::Tensor ManualStep::share_of_mean(const at::Tensor& loss) const {
  if (on_ranks_.is_idle) return loss * 0;
  const int64_t ranks = parts_.strategy.comm().world_size();
  if (on_ranks_.ranks_with_batch == ranks) return loss;
  return loss * (static_cast<double>(ranks) / static_cast<double>(on_ranks_.ranks_with_batch));
}

void ManualStep::backward(const at::Tensor& loss) {
  const OutsideAutocast outside(parts_.strategy.device().type());
  optimizers_.update_scale_if_all_stepped();
  call_backward(optimizers_.scale(share_of_mean(loss)), /*sync=*/true);
}

void ManualStep::clip_gradients(size_t index, double value, GradientClipAlgorithm algorithm) {
  const OutsideAutocast outside(parts_.strategy.device().type());
  optimizers_.unscale_once(index);
  optimizers_.clip(index, value, algorithm);
}

}  // namespace levin
