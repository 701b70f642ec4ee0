#include <levin/callbacks/gradient_accumulation_scheduler.h>
#include <levin/core/system/error.h>
#include <levin/modules/lightning_module.h>

namespace levin {

GradientAccumulationScheduler::GradientAccumulationScheduler(GradientAccumulationSchedulerOptions options)
    : options_(std::move(options)) {
  if (options_.scheduling.empty())
    throw UsageError("GradientAccumulationScheduler.scheduling: missing; map epochs to numbers of batches, {\"0\": 4}");
}

void GradientAccumulationScheduler::setup(Run& run) {
  if (!run.fitting()) return;
  // A resumed run restores the value of its checkpoint later.
  if (run.state().accumulate_grad_batches != 1)
    throw UsageError("trainer.accumulate_grad_batches and the callback GradientAccumulationScheduler contradict each ",
                     "other: both say how many batches to accumulate; leave accumulate_grad_batches at 1");
  if (!run.module().automatic_optimization)
    throw UsageError("GradientAccumulationScheduler: manual optimization accumulates itself; remove the callback");
}

void GradientAccumulationScheduler::on_train_epoch_start(Run& run) {
  run.set_accumulate_grad_batches(batches_in(run.state().epoch));
}

}  // namespace levin
