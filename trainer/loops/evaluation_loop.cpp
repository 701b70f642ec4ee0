#include <levin/trainer/loops/evaluation_loop.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/trainer/loops/idle_evaluation.h>
#include <levin/trainer/loops/modes_restored.h>
#include <levin/trainer/loops/rank_agreement.h>
#include <levin/trainer/loops/stage_scope.h>

#include <algorithm>
#include <utility>

namespace levin {

/// The hooks, methods and limits that differ between validation and test.
struct EvaluationLoop::StageHooks {
  using Call = void (HookDispatch::*)(Run&) const;
  using ModelCall = void (LightningModule::*)();
  Action whole, next, set_eval;
  ModelCall model_eval, model_train;
  Call start, epoch_start, batch_start, batch_end, epoch_end, end;
  EvaluationStep step;
  ModuleMethod method;
  BatchLimit TrainerOptions::* limit;
  const char* limit_name;
};

const EvaluationLoop::StageHooks& EvaluationLoop::stage_hooks(Stage stage) {
  static const StageHooks validation{Action::Validation,
                                     Action::ValNext,
                                     Action::ValidationModelEval,
                                     &LightningModule::on_validation_model_eval,
                                     &LightningModule::on_validation_model_train,
                                     &HookDispatch::on_validation_start<Run>,
                                     &HookDispatch::on_validation_epoch_start<Run>,
                                     &HookDispatch::on_validation_batch_start<Run>,
                                     &HookDispatch::on_validation_batch_end<Run>,
                                     &HookDispatch::on_validation_epoch_end<Run>,
                                     &HookDispatch::on_validation_end<Run>,
                                     &LightningModule::validation_step,
                                     ModuleMethod::validation_step,
                                     &TrainerOptions::limit_val_batches,
                                     "trainer.limit_val_batches"};
  static const StageHooks test{Action::Test,
                               Action::TestNext,
                               Action::TestModelEval,
                               &LightningModule::on_test_model_eval,
                               &LightningModule::on_test_model_train,
                               &HookDispatch::on_test_start<Run>,
                               &HookDispatch::on_test_epoch_start<Run>,
                               &HookDispatch::on_test_batch_start<Run>,
                               &HookDispatch::on_test_batch_end<Run>,
                               &HookDispatch::on_test_epoch_end<Run>,
                               &HookDispatch::on_test_end<Run>,
                               &LightningModule::test_step,
                               ModuleMethod::test_step,
                               &TrainerOptions::limit_test_batches,
                               "trainer.limit_test_batches"};
  return stage == Stage::Test ? test : validation;
}

EvaluationLoop::EvaluationLoop(RunContext& run, Stage stage, std::function<data::Loaders()> source)
    : run_(run),
      parts_(run.parts),
      counters_(run.state.counters),
      sink_(run.state.sink),
      stage_(stage),
      hooks_(stage_hooks(stage)),
      source_(std::move(source)) {}

bool EvaluationLoop::enabled() const {
  return source_ && !((*parts_.options).*hooks_.limit).is_none() && parts_.module.overrides.has(hooks_.method) &&
         (!loaders_ || !loaders_->empty());
}

void EvaluationLoop::load() {
  if (!loaders_) {
    loaders_ = source_();
    seed_loaders(parts_, *loaders_);
    divide_among_ranks(parts_, *loaders_);
    for (const auto& loader : *loaders_) ranked_.emplace_back(*loader, run_.comm());
  }
  run_.state.loaders.evaluation = &*loaders_;
}

void EvaluationLoop::unload() {
  ranked_.clear();
  loaders_.reset();
}

bool EvaluationLoop::run() {
  if (!parts_.is_fit() || stage_ != Stage::Validate) return evaluate(stage_, {});
  const bool resumed = counters_.batch_phase == BatchPhase::Validating;
  if (!resumed && counters_.window.position == 0)
    measured(parts_.profiler, Action::ValidationModelZeroGrad, [&] { run_.module().on_validation_model_zero_grad(); });
  counters_.batch_phase.begin_validation();
  if (!evaluate(stage_, {}, resumed)) return false;
  counters_.batch_phase.end_validation();
  counters_.validated_seconds = run_.state.clock.seconds();
  counters_.validations += 1;
  return true;
}

void EvaluationLoop::run_sanity_check() {
  const RngGuard generator_as_before;
  const int64_t batches = parts_.options->num_sanity_val_steps;
  evaluate(Stage::SanityCheck, batches < 0 ? std::nullopt : std::optional(batches));
  sink_.forget_evaluation();
}

bool EvaluationLoop::evaluate(Stage stage, std::optional<int64_t> at_most, bool resumed) {
  const ProfileSpan span(parts_.profiler, stage == Stage::SanityCheck ? Action::SanityCheck : hooks_.whole);
  const c10::InferenceMode inference_mode(parts_.options->inference_mode);
  const at::NoGradGuard no_grad;
  const StageScope in_stage(run_, stage);
  sink_.use_evaluation_table(0, loaders_->size() > 1);
  LightningModule& module = run_.module();
  ModesRestored modes(module, hooks_.model_train);
  measured(parts_.profiler, hooks_.set_eval, [&] { (module.*hooks_.model_eval)(); });
  if (!resumed) {
    counters_.evaluation_loader = counters_.evaluation_batch = 0;
    (parts_.hooks.*hooks_.start)(run_.view);
    (parts_.hooks.*hooks_.epoch_start)(run_.view);
  }
  parts_.strategy.begin_evaluation();  // of the weights that callbacks may have put in place
  const bool finished = evaluate_loaders(at_most);
  if (finished) {
    (parts_.hooks.*hooks_.epoch_end)(run_.view);
    const Metrics reduced =
        measured(parts_.profiler, Action::ReadMetrics, [&] { return sink_.read_evaluation_epoch(); });
    if (stage != Stage::SanityCheck) run_.log_row(reduced);
    (parts_.hooks.*hooks_.end)(run_.view);
  }
  modes.restore();
  return finished;
}

/// Runs the loaders from `evaluation_loader` on; the first of them resumes after `evaluation_batch`.
bool EvaluationLoop::evaluate_loaders(std::optional<int64_t> at_most) {
  for (auto i = static_cast<size_t>(counters_.evaluation_loader); i < loaders_->size(); ++i) {
    data::Loader& loader = (*loaders_)[i];
    // Before its first batch a loader has the state of another epoch, so it is not restored.
    if (const State* const places = run_.state.resumption.places();
        places != nullptr && counters_.evaluation_batch > 0) {
      ranked_[i].check_ranks(*places, "evaluation_loaders_in_step");
      loader.load_state_dict(places->at("evaluation_loaders").items().at(i));
    } else {
      loader.set_epoch(counters_.epoch);
    }
    run_.state.resumption.drop_places();
    if (!evaluate_loader(ranked_[i], static_cast<int64_t>(i), at_most)) return false;
  }
  return true;
}

/// Continues after `evaluation_batch`. Returns false if a signal ended the validation.
bool EvaluationLoop::evaluate_loader(RankedLoader& loader, int64_t index, std::optional<int64_t> at_most) {
  const ResolvedOptions& options = parts_.options;
  const char* name = stage_ == Stage::Test ? hooks_.limit_name : options.limit_or_overfit(hooks_.limit_name);
  std::optional<int64_t> limit = ((*options).*hooks_.limit).of(loader.size(), name);
  if (at_most) limit = limit ? std::min(*limit, *at_most) : *at_most;
  run_.state.loaders.batches = limit;
  run_.enter(counters_.stage, index);
  counters_.evaluation_loader = index;
  sink_.use_evaluation_table(index, loaders_->size() > 1);
  int64_t& batches_done = counters_.evaluation_batch;
  std::optional<ValidationAgreement> agreement;
  if (ranks_ != nullptr && counters_.stage == Stage::Validate) agreement.emplace(*ranks_);
  while (!limit || batches_done < *limit) {
    auto loaded = measured(parts_.profiler, hooks_.next, [&] { return loader.next(); });
    if (!loaded) break;
    // If this rank's batch is absent, only the hooks of other ranks run and may ask for a save.
    const bool all_have_one = loader.is_in_step() && !loaded->last;
    if (!loaded->absent)
      evaluate_batch(run_.to_device(std::move(loaded->batch)), batches_done);
    else if (parts_.options.strategy().traits.shards_parameters)
      run_idle_evaluation(run_, loader, std::move(loaded->batch),
                          [&](const Batch& idle) { run_step(idle, batches_done); });
    batches_done += 1;
    if (counters_.stage == Stage::SanityCheck) continue;
    all_have_one ? run_.saves.save_if_asked() : run_.saves.save_if_any_rank_asks();
    const bool goes_on = agreement ? agreement->goes_on() : received_signal() == 0 || !run_.state.stops.reason();
    if (!goes_on) return false;
  }
  batches_done = 0;
  return true;
}

void EvaluationLoop::run_step(const Batch& batch, int64_t batch_idx) {
  parts_.precision.forward_context([&] { parts_.strategy.run_evaluation_step(hooks_.step, batch, batch_idx); });
}

void EvaluationLoop::evaluate_batch(Batch batch, int64_t batch_idx) {
  const BatchInHand in_hand(run_.state, batch, batch_idx,
                            BatchInHand::Logging{.step = batch_idx, .on_step_by_default = false});
  (parts_.hooks.*hooks_.batch_start)(run_.view);
  run_step(batch, batch_idx);
  (parts_.hooks.*hooks_.batch_end)(run_.view);
  if (counters_.stage != Stage::SanityCheck && sink_.anything_to_read_each_evaluation_step())
    run_.log_row(sink_.read_own_step());
}

}  // namespace levin
