#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/lr_schedulers/chained_scheduler.h>
#include <levin/modules/lr_schedulers/constant_lr.h>
#include <levin/modules/lr_schedulers/cosine_annealing_lr.h>
#include <levin/modules/lr_schedulers/cosine_annealing_warm_restarts.h>
#include <levin/modules/lr_schedulers/cyclic_lr.h>
#include <levin/modules/lr_schedulers/exponential_lr.h>
#include <levin/modules/lr_schedulers/lambda_lr.h>
#include <levin/modules/lr_schedulers/linear_lr.h>
#include <levin/modules/lr_schedulers/multi_step_lr.h>
#include <levin/modules/lr_schedulers/multiplicative_lr.h>
#include <levin/modules/lr_schedulers/one_cycle_lr.h>
#include <levin/modules/lr_schedulers/polynomial_lr.h>
#include <levin/modules/lr_schedulers/reduce_lr_on_plateau.h>
#include <levin/modules/lr_schedulers/sequential_lr.h>
#include <levin/modules/lr_schedulers/step_lr.h>
#include <levin/modules/lr_schedulers/swa_lr.h>
#include <levin/modules/lr_schedulers/warmup_cosine.h>

namespace levin {
namespace {

/// Registers levin's own schedules.
void register_builtins(Registry<LRSchedulerKind::Entry>& registry) {
  add_lr_scheduler<LambdaLR, LambdaLROptions>(registry, "LambdaLR",
                                              "In C++ only: the first rate times a function of the epoch");
  add_lr_scheduler<MultiplicativeLR, MultiplicativeLROptions>(
      registry, "MultiplicativeLR", "In C++ only: multiplies the rate by a function of the epoch");
  add_lr_scheduler<StepLR, StepLROptions>(registry, "StepLR",
                                          "Decays the rate by gamma every step_size epochs or steps");
  add_lr_scheduler<MultiStepLR, MultiStepLROptions>(registry, "MultiStepLR",
                                                    "Decays the rate by gamma at each of the milestones");
  add_lr_scheduler<ConstantLR, ConstantLROptions>(registry, "ConstantLR", "Holds the rate at a fraction for a while");
  add_lr_scheduler<LinearLR, LinearLROptions>(registry, "LinearLR", "Raises or lowers the rate linearly: a warm-up");
  add_lr_scheduler<ExponentialLR, ExponentialLROptions>(registry, "ExponentialLR",
                                                        "Decays the rate by gamma every epoch or step");
  add_lr_scheduler<PolynomialLR, PolynomialLROptions>(registry, "PolynomialLR",
                                                      "Lets the rate fall to 0 along a polynomial");
  add_lr_scheduler<CosineAnnealingLR, CosineAnnealingLROptions>(registry, "CosineAnnealingLR",
                                                                "Lets the rate fall along half a cosine");
  add_lr_scheduler<CosineAnnealingWarmRestarts, CosineAnnealingWarmRestartsOptions>(
      registry, "CosineAnnealingWarmRestarts", "Lets the rate fall along half a cosine again and again");
  add_lr_scheduler<CyclicLR, CyclicLROptions>(registry, "CyclicLR", "Moves the rate up and down between two bounds");
  add_lr_scheduler<OneCycleLR, OneCycleLROptions>(registry, "OneCycleLR",
                                                  "Raises the rate, then lets it fall to almost nothing");
  add_lr_scheduler<SWALR, SWALROptions>(registry, "SWALR", "Moves the rate to that of weight averaging");
  add_lr_scheduler<WarmupCosine, WarmupCosineOptions>(
      registry, "WarmupCosine", "Raises the rate linearly, then lets it fall along half a cosine");
  add_lr_scheduler<ReduceLROnPlateau, ReduceLROnPlateauOptions>(registry, "ReduceLROnPlateau",
                                                                "Reduces the rate where a metric stops improving");
  add_lr_scheduler<SequentialLR, SequentialLROptions>(registry, "SequentialLR", "Schedulers one after the other");
  add_lr_scheduler<ChainedScheduler, ChainedSchedulerOptions>(registry, "ChainedScheduler",
                                                              "Schedulers that step together");
}

}  // namespace

Registry<LRSchedulerKind::Entry>& LRSchedulerKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("lr_scheduler", "lr_schedulers");
    register_builtins(made);
    return made;
  }();
  return registry;
}

}  // namespace levin
