#include <levin/trainer/options/optimizer_check.h>
#include <levin/callbacks/callbacks_of.h>
#include <levin/callbacks/ema_weight_averaging.h>
#include <levin/callbacks/stochastic_weight_averaging.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/modules/optim/engine/repeats_closure.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/optim/optimizers/schedule_free_adamw.h>
#include <levin/modules/parallel/ranks/sharded_optimizer.h>

namespace levin {
namespace {

void check_repeated(const ResolvedOptions& options) {
  const StrategyChoice& strategy = options.strategy();
  if (strategy.traits.has_replicas)
    throw UsageError("strategy ", strategy.name,
                     " does not run LBFGS, which evaluates a batch many times in one step; use one device");
  if (options->auto_microbatch)
    throw UsageError("trainer.auto_microbatch: LBFGS evaluates a batch many times in one step; set it to false");
  if (options->precision == Precision(16))
    throw UsageError("trainer.precision: ", options->precision.name(),
                     " looks at the gradients once before a step, and LBFGS computes them many times in one; use "
                     "bf16-mixed or 32-true");
  if (options->accumulate_grad_batches > 1)
    throw UsageError(
        "trainer.accumulate_grad_batches: LBFGS evaluates a batch many times in one step, which would add up the "
        "window's gradients again; set it to 1");
}

}  // namespace

void check_averages(const torch::optim::Optimizer& optimizer, const std::vector<CallbackEntry>& callbacks) {
  if (dynamic_cast<const optim::ScheduleFreeAdamW*>(&optimizer) == nullptr) return;
  if (!callbacks_of<const EMAWeightAveraging>(callbacks).empty() ||
      !callbacks_of<const StochasticWeightAveraging>(callbacks).empty())
    throw UsageError(
        "callbacks: ScheduleFreeAdamW averages the weights itself; leave out EMAWeightAveraging and "
        "StochasticWeightAveraging, or use AdamW");
}

void check_interval(const LRScheduler& scheduler, Interval interval) {
  if (interval == Interval::Token && !scheduler.can_advance())
    throw UsageError(
        "lr_scheduler.interval: this scheduler cannot count tokens, since its rate follows from the one before or from "
        "a metric; WarmupCosine and LambdaLR can");
}

void check_optimizer(const torch::optim::Optimizer& optimizer, const ResolvedOptions& options) {
  const StrategyChoice& strategy = options.strategy();
  if (optim::detail::repeats_closure(optimizer)) check_repeated(options);
  if (strategy.traits.shards_optimizer) parallel::ShardedOptimizer::check(optimizer, strategy.name);
  if (options->mesh.tensor > 1 && !optim::is_elementwise(optimizer))
    throw UsageError(
        "trainer.mesh.tensor: this optimizer looks at whole parameters, of which each tensor-parallel rank has a "
        "part; use one that steps each element by itself (SGD, Adam, AdamW, RMSprop, ...)");
  check_averages(optimizer, options->callbacks);
  const bool has_copies = options->amp_level && *options->amp_level == AmpLevel::O2;
  if (has_copies && dynamic_cast<const optim::ScheduleFreeAdamW*>(&optimizer) != nullptr)
    throw UsageError(
        "trainer.amp_level: ScheduleFreeAdamW averages the weights that are trained, and O2 keeps them in 16 bit "
        "beside float32 copies; use O1, or precision bf16-mixed");
}

}  // namespace levin
