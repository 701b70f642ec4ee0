#include <levin/trainer/resume/apply_checkpoint.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <levin/callbacks/callback.h>
#include <levin/callbacks/callbacks_of.h>
#include <levin/callbacks/fit_control.h>
#include <levin/core/run/logged_metric.h>
#include <levin/core/state/find_state_dict.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/modules/module_modes.h>
#include <levin/modules/parallel/ranks/sharded_memory.h>
#include <levin/modules/parallel/sharding/gradient_means.h>
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <levin/modules/weights.h>
#include <levin/trainer/checkpoint/lightning_loops.h>
#include <levin/trainer/checkpoint/optimizer_groups.h>
#include <levin/trainer/checkpoint/rank_sections.h>
#include <levin/trainer/resume/checkpoint_contents.h>
#include <levin/trainer/resume/precision_state.h>
#include <levin/trainer/run/run_context.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace levin {
namespace {

/// Calls `part` and prefixes its errors with the file's name.
void with_file(const std::string& file, const std::function<void()>& part) {
  try {
    part();
  } catch (const Error& error) {
    throw UsageError(file, ": ", error.what());
  }
}

const State& weights_of(const State& checkpoint) {
  const State* const weights = find_state_dict(checkpoint);
  if (weights == nullptr)
    throw UsageError("it is no checkpoint, it has no \"state_dict\"; weights alone are read by model.weights");
  return *weights;
}

/// Throws if no run could resume from the checkpoint, whatever its module and optimizers are.
void check_resumable(const State& checkpoint) {
  weights_of(checkpoint);
  if (checkpoint.find("optimizer_states") == nullptr || checkpoint.find("lr_schedulers") == nullptr)
    throw UsageError(
        "it holds weights only, and a run cannot be resumed from it; start a new run with these weights "
        "(model.weights, or "
        "levin::load_weights)");
  if (const State* own = checkpoint.find("levin")) {
    const int64_t version = own->at("format_version").to_int();
    if (version > kCheckpointFormat)
      throw UsageError("its format has the version ", version, ", and this levin reads up to ", kCheckpointFormat,
                       "; use a newer levin");
  }
}

void check_optimizers(const RunContext& run, const State& checkpoint) {
  const State& optimizers = checkpoint.at("optimizer_states");
  const State& schedulers = checkpoint.at("lr_schedulers");
  if (optimizers.size() != run.parts.optimizers.size())
    throw UsageError("it has ", optimizers.size(), " optimizers, configure_optimizers returned ",
                     run.parts.optimizers.size());
  if (!run.view.takes_present_options() && schedulers.size() != run.parts.schedulers.size())
    throw UsageError("it has ", schedulers.size(), " learning-rate schedulers, configure_optimizers returned ",
                     run.parts.schedulers.size());
}

/// Returns the names of an optimizer's parameters, with those of groups that a callback has added. Where strategy or
/// precision have replaced the tensors, the names are those of configure_optimizers.
GroupNames present_names(RunContext& run, size_t index) {
  GroupNames now = names_of_groups(*run.parts.optimizers.at(index), run.module());
  const bool known = std::ranges::none_of(now, [](const auto& group) { return std::ranges::count(group, "") > 0; });
  return known ? now : run.parts.optimizer_parameters.at(index);
}

/// Returns an optimizer's saved state as it is to be loaded: with the saved options, or with the present ones.
State state_to_load(RunContext& run, size_t index, const State& saved, const State* own) {
  if (!run.view.takes_present_options()) return saved;
  const State* const all_names = own != nullptr ? own->find("optimizer_parameters") : nullptr;
  const State* const names = all_names != nullptr ? &all_names->items().at(index) : nullptr;
  const GroupNames present = present_names(run, index);
  if (run.parts.precision.master_weights(index) != nullptr && !has_same_order(present, names))
    throw UsageError(
        "trainer.resume_optimizer_options: present: the float32 copies of amp_level O2 were saved in the order of the "
        "optimizer's parameters, which is another one now; keep the order");
  return with_present_groups(*run.parts.optimizers[index], present, saved, names);
}

void apply_optimizers(RunContext& run, const State& checkpoint, const State* own) {
  const State::List& optimizers = checkpoint.at("optimizer_states").items();
  for (size_t i = 0; i < optimizers.size(); ++i)
    if (!optimizers[i].is_none())
      run.parts.strategy.state().load_optimizer_state(*run.parts.optimizers[i],
                                                      state_to_load(run, i, optimizers[i], own));
  if (run.view.takes_present_options()) return;
  const State::List& schedulers = checkpoint.at("lr_schedulers").items();
  for (size_t i = 0; i < schedulers.size(); ++i) run.parts.schedulers[i]->load_state_dict(schedulers[i]);
}

/// Steps the present schedulers, which are at their beginning, as often as the finished part of the run would have done
/// it: not in epochs in which a callback's scheduler stepped in their place. Those that follow a metric stay at their
/// beginning.
void step_to_present_place(RunContext& run) {
  if (!run.view.takes_present_options()) return;
  const RunParts& parts = run.parts;
  const TrainerState& counters = run.state.counters;
  int64_t epochs = counters.epoch + (counters.last_batch && counters.batch_in_epoch > 0);
  for (const FitControl* const control : callbacks_of<const FitControl>(parts.callbacks))
    epochs -= control->epochs_of_lr_scheduler();
  for (size_t i = 0; i < parts.schedulers.size(); ++i) {
    const LRSchedulerConfig& config = parts.scheduler_configs[i];
    const int64_t intervals = config.interval == Interval::Step ? counters.global_step - counters.skipped_steps
                                                                : std::max<int64_t>(epochs, 0);
    if (parts.schedulers[i]->needs_metric()) continue;
    if (config.interval == Interval::Token) {
      if (counters.tokens_seen > 0) parts.schedulers[i]->advance_to(counters.tokens_seen / config.frequency);
      continue;
    }
    for (int64_t step = 0; step < intervals / config.frequency; ++step) parts.schedulers[i]->step();
  }
}

/// Sets each gradient to the sum over the sections.
void apply_gradients(RunContext& run, const std::vector<const State*>& sections) {
  const at::NoGradGuard no_grad;
  const auto partitions = parallel::partitions_of(run.module());
  for (const auto& parameter : run.module().named_parameters()) {
    at::Tensor sum;
    const auto divided = partitions.find(parameter.key());
    for (const State* section : sections)
      if (const State* saved = section->at("gradients").find(parameter.key())) {
        const at::Tensor own =
            divided != partitions.end() ? divided->second.part_of(saved->to_tensor()) : saved->to_tensor();
        // Not by its options, whose layout is not that of a sparse gradient.
        const at::Tensor one = own.to(parameter.value().device(), parameter.value().scalar_type(),
                                      /*non_blocking=*/false, /*copy=*/true);
        sum = sum.defined() ? sum + one : one;
      }
    if (sum.defined()) parameter.value().mutable_grad() = sum;
  }
}

/// Restores gradients that were reduced in each batch of a window. A strategy that does not keep them in parts gets the
/// sum over the ranks as gradients of rank 0.
void apply_gradient_means(RunContext& run, const State& ranks) {
  std::vector<State> of_ranks;
  for (const State& section : ranks.items())
    if (const State* means = section.find("gradient_means"); means != nullptr && !means->is_none())
      of_ranks.push_back(*means);
  if (of_ranks.empty() || run.parts.strategy.state().load_gradient_means(of_ranks) || !run.comm().is_global_zero())
    return;
  const at::NoGradGuard no_grad;
  const parallel::GradientMeans sums(of_ranks, /*world_size=*/1);
  for (const auto& item : run.module().named_parameters()) {
    if (!sums.contains(item.key())) continue;
    at::Tensor& gradient = item.value().mutable_grad();
    const at::Tensor sum = at::zeros_like(item.value());
    sums.copy_to(item.key(), 0, parallel::elements(sum, 0, sum.numel()));
    gradient = gradient.defined() ? gradient + sum : sum;
  }
}

/// Restores the weight of the current accumulation window on this rank and, if one rank started the window, its
/// reference weight.
void apply_weights_of_window(RunContext& run, const RankSections& sections) {
  WindowState& window = run.state.counters.window;
  double sum = 0;
  for (const State* section : sections.sections_for_sums()) {
    const State* const own = section->find("sum_of_weights");
    sum += own != nullptr ? own->to_double() : window.sum_of_weights;
  }
  window.sum_of_weights = sum;
  if (run.comm().processes() > 1 && window.position > 0 && run.state.counters.reference_weight == 0)
    run.state.counters.reference_weight = window.first_weight;
}

void apply_metrics(const LightningModule& module, const RankSections& sections) {
  for (const auto& [name, metric] : module.registered_metrics()) {
    std::vector<State> counted;
    for (const State* section : sections.sections_for_sums())
      if (const State* metrics = section->find("metrics"))
        if (const State* saved = metrics->find(name)) counted.push_back(*saved);
    if (sections.other_ranks()) metric->reset();
    if (counted.empty()) continue;
    metric->load_state_dict(counted.back());
    for (size_t i = counted.size() - 1; i > 0; --i) metric->prepend_state_dict(counted[i - 1]);
  }
}

/// Converts the counters to another number of ranks, with the same batch size per rank and the same number of batches
/// per step over all ranks.
void keep_global_batch(RunContext& run, int64_t ranks_before) {
  TrainerState& counters = run.state.counters;
  const int64_t ranks = run.comm().world_size();
  if (ranks == ranks_before) return;
  const auto refuse = [&](const std::string& why) {
    throw UsageError("trainer.keep_global_batch: ", why, ", and ", ranks_before, " ranks are now ", ranks,
                     "; resume with ", ranks_before, " ranks, or set keep_global_batch to false");
  };
  if (counters.window.position != 0) refuse("it was saved in the middle of an accumulation window");
  if (counters.batch_phase == BatchPhase::Validating) refuse("it was saved in the middle of a validation");
  const int64_t in_each_step = counters.accumulate_grad_batches * ranks_before;
  if (in_each_step % ranks != 0) refuse(c10::str("each step has ", in_each_step, " batches"));
  counters.accumulate_grad_batches = in_each_step / ranks;
  run.state.accumulation_scale.change_ranks(ranks_before, ranks);
  for (int64_t* count :
       {&counters.batch_in_epoch, &counters.batches_seen, &counters.samples_seen, &counters.batches_of_last_epoch})
    *count = *count * ranks_before / ranks;
}

/// Restores the section that only levin's checkpoints have.
void apply_levin_section(RunContext& run, const State& own, bool goes_on) {
  const int64_t k = run.state.counters.accumulate_grad_batches;
  run.state.counters.load_state_dict(own.at("trainer"));
  run.state.counters.stage = Stage::Fit;
  // A changed option wins over the checkpoint's value.
  if (own.at("accumulate_grad_batches").to_int() != k)
    run.state.counters.accumulate_grad_batches = k;
  else if (const State* scale = own.find("accumulation_scale"))
    run.state.accumulation_scale.load_state(*scale);
  const RankSections sections(own.at("ranks"), run.comm().rank(), run.comm().world_size());
  if (run.parts.options->keep_global_batch) keep_global_batch(run, sections.saved());
  load_module_modes(run.module(), own.at("module_modes"));
  const State& data = own.at("data_module");
  if (run.data_module() && !data.is_none()) run.data_module()->load_state_dict(data);
  run.parts.loggers->load_state_dict(own.at("loggers"));
  if (const State& step = own.at("non_finite_step"); !step.is_none()) run.state.loss_watch.restore(step.to_int());
  if (const State& reason = own.at("stop_reason"); goes_on && !reason.is_none())
    run.view.request_stop(reason.to_string());
  // Under manual optimization gradients are the same on all ranks.
  const bool gathered = run.module().automatic_optimization;
  apply_gradients(run, gathered ? sections.sections_for_sums() : std::vector<const State*>{&sections.own()});
  apply_gradient_means(run, own.at("ranks"));
  apply_weights_of_window(run, sections);
  apply_metrics(run.module(), sections);
  run.state.sink.load_state_dict(sections.logged(), run.module().registered_metrics());
  run.state.resumption.set_places(sections.places());
}

void apply_lightning_loops(RunContext& run, const State& checkpoint) {
  const int64_t k = run.state.counters.accumulate_grad_batches;
  run.state.counters = state_of_lightning(checkpoint, static_cast<int64_t>(run.parts.optimizers.size()));
  run.state.counters.accumulate_grad_batches = k;
}

}  // namespace

void announce_checkpoint(RunContext& run, const State& checkpoint, const std::string& file) {
  with_file(file, [&] {
    if (run.view.fitting())
      check_resumable(checkpoint);
    else
      weights_of(checkpoint);
    run.parts.hooks.on_load_checkpoint(run.view, checkpoint);
  });
}

void apply_checkpoint(RunContext& run, const State& checkpoint, const std::string& file, bool goes_on) {
  with_file(file, [&] {
    check_optimizers(run, checkpoint);
    check_module_state_dict(run.module(), weights_of(checkpoint));
    const State* const own = checkpoint.find("levin");
    // The strategy may shard the optimizers' state, so it comes first.
    if (const State* strategy = own != nullptr ? own->find("strategy") : nullptr)
      run.parts.strategy.state().load_state_dict(*strategy);
    apply_optimizers(run, checkpoint, own);
    load_module_state_dict(run.module(), weights_of(checkpoint));
    load_precision_state(run, checkpoint);
    if (const State* callbacks = checkpoint.find("callbacks"))
      for_each_callback(run, [&](const std::string& key, Callback& callback) {
        if (const State* state = callbacks->find(key)) callback.load_state_dict(*state);
      });
    if (own != nullptr)
      apply_levin_section(run, *own, goes_on);
    else
      apply_lightning_loops(run, checkpoint);
    step_to_present_place(run);
    run.state.clock.continue_from(run.state.counters.elapsed_seconds);
    run.state.resumption.begin();
  });
}

void apply_weights(RunContext& run, const State& checkpoint, const std::string& file) {
  with_file(file, [&] { load_module_state_dict(run.module(), weights_of(checkpoint)); });
}

}  // namespace levin
