#include <levin/trainer/tuner/learning_rate_finder.h>
#include <levin/trainer/run/run_inputs.h>
#include <levin/trainer/trainer_impl.h>
#include <levin/trainer/tuner/finders.h>

#include <utility>

namespace levin {

LearningRateFinder::LearningRateFinder(LearningRateFinderOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "LearningRateFinder");
}

void LearningRateFinder::before_fit(Trainer& trainer, const ModuleRef& module, const RunInputs& inputs) {
  TuningOutcome& tuned = Trainer::Impl::of(trainer).tuned;
  tuned.lr.reset();  // of an earlier fit
  if (!finder_may_search(trainer, inputs)) return;
  const LRFindOptions options{.min_lr = options_.min_lr,
                              .max_lr = options_.max_lr,
                              .num_training = options_.num_training_steps,
                              .mode = options_.mode,
                              .early_stop_threshold = options_.early_stop_threshold,
                              .update_attr = options_.update_attr};
  found_ = inputs.data_module ? lr_find(trainer, module, *inputs.data_module, options)
                              : lr_find(trainer, module, inputs.train, options);
}

}  // namespace levin
