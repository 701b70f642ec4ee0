#include <levin/trainer/resume/checkpoint_contents.h>
#include <levin/callbacks/callback.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/run/logged_metric.h>
#include <levin/core/state/find_state_dict.h>
#include <levin/core/state/json_state.h>
#include <levin/core/state/sharded_state.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/data/learned_state.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/modules/module_modes.h>
#include <levin/modules/parallel/tensor/joined_state.h>
#include <levin/modules/trained_weights.h>
#include <levin/trainer/checkpoint/lightning_loops.h>
#include <levin/trainer/checkpoint/optimizer_groups.h>
#include <levin/trainer/resume/precision_state.h>
#include <levin/trainer/run/run_context.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace levin {
namespace {

/// The version of PyTorch Lightning whose layout the top-level keys follow.
constexpr const char* kLightningVersion = "2.6.6";

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

State callback_states(RunContext& run) {
  State states = State::dict();
  for_each_callback(run, [&](const std::string& key, Callback& callback) {
    State state = callback.state_dict();
    if (!state.is_none()) states[key] = std::move(state);
  });
  return states;
}

/// Returns none, with a warning, for an optimizer whose state cannot be saved.
State optimizer_state(RunContext& run, torch::optim::Optimizer& optimizer, State* shards) try {
  StrategyState& strategy = run.parts.strategy.state();
  return shards != nullptr ? strategy.sharded_optimizer_state(optimizer, *shards) : strategy.optimizer_state(optimizer);
} catch (const UsageError& error) {
  run.warn_once(
      "checkpoint optimizer state",
      std::string("checkpoints lack an optimizer's state, and a run that is resumed from one starts with a new "
                  "one: ") +
          error.what());
  return State();
}

State optimizer_states(RunContext& run, State* shards) {
  State states = State::list();
  for (const auto& optimizer : run.parts.optimizers) states.push_back(optimizer_state(run, *optimizer, shards));
  return states;
}

/// Returns the names of each optimizer's parameters, by which a run with other groups finds their state.
State optimizer_parameters(RunContext& run, const State& states) {
  State names = State::list();
  for (size_t i = 0; i < run.parts.optimizers.size(); ++i) {
    // Hooks may have added groups; zero1 and master weights have replaced the tensors.
    State now = state_of_names(names_of_groups(*run.parts.optimizers[i], run.module()), states.items()[i]);
    names.push_back(now.is_none() ? state_of_names(run.parts.optimizer_parameters[i], states.items()[i])
                                  : std::move(now));
  }
  return names;
}

State scheduler_states(RunContext& run) {
  State states = State::list();
  for (const auto& scheduler : run.parts.schedulers) states.push_back(scheduler->state_dict());
  return states;
}

/// Returns whether gradients belong to a checkpoint: those of the current window; under manual optimization all.
bool has_gradients(RunContext& run) {
  return !run.module().automatic_optimization || run.state.counters.window.position != 0;
}

State gathered_gradients(RunContext& run) {
  State gradients = State::dict();
  if (!has_gradients(run)) return gradients;
  for (const auto& parameter : run.module().named_parameters())
    if (const at::Tensor& gradient = parameter.value().grad(); gradient.defined())
      gradients[parameter.key()] = gradient;
  return parallel::join_tensors(run.module(), gradients);
}

State loader_states(const data::Loaders* loaders) {
  State states = State::list();
  if (loaders != nullptr)
    for (const auto& loader : *loaders) states.push_back(loader->state_dict());
  return states;
}

State metric_states(const LightningModule& module) {
  State states = State::dict();
  for (const auto& [name, metric] : module.registered_metrics()) states[name] = metric->state_dict();
  return states;
}

/// Returns whether the loaders' positions are the same on all ranks.
bool are_in_step(const data::Loaders* loaders, const Comm& comm) {
  return comm.world_size() == 1 || loaders == nullptr ||
         std::ranges::all_of(*loaders, [](const auto& loader) { return loader->in_step(); });
}

/// Returns the state that belongs to one rank. Between epochs the training loader has no position, and between
/// validations the evaluation loaders have none.
State section_of_rank(RunContext& run) {
  const bool validating = run.state.counters.batch_phase == BatchPhase::Validating;
  const bool inside_epoch = run.state.counters.batch_in_epoch != 0;
  // First, because it computes the metrics of the epoch in hand, whose values registered ones may keep.
  State logged = run.state.sink.state_dict(run.module().registered_metrics(), /*inside_evaluation=*/validating);
  State section =
      State::dict({{"rng", run.rng()},
                   {"train_loader", inside_epoch ? loader_states(run.state.loaders.train) : State::list()},
                   {"evaluation_loaders", validating ? loader_states(run.state.loaders.evaluation) : State::list()},
                   {"train_loader_in_step", are_in_step(run.state.loaders.train, run.comm())},
                   {"evaluation_loaders_in_step", are_in_step(run.state.loaders.evaluation, run.comm())},
                   {"gradients", gathered_gradients(run)},
                   {"gradient_means", has_gradients(run) ? run.parts.strategy.state().gradient_means() : State()},
                   {"sum_of_weights", run.state.counters.window.sum_of_weights},
                   {"metrics", metric_states(run.module())},
                   {"logged", std::move(logged)}});
  if (State host = run.host_states(); !host.is_none()) section["host"] = std::move(host);
  return section;
}

/// Returns the sections of all ranks. If the checkpoint is sharded, each rank's goes to its part.
State sections_of_ranks(RunContext& run, State* shards) {
  if (shards == nullptr) return State(gather_states(section_of_rank(run), run.comm()));
  const auto key = [](int64_t rank) { return "levin/ranks/" + std::to_string(rank); };
  State marks = State::list();
  for (int64_t rank = 0; rank < run.comm().world_size(); ++rank) marks.push_back(shard_mark(key(rank)));
  (*shards)[key(run.comm().rank())] = section_of_rank(run);
  return marks;
}

State levin_section(RunContext& run, State* shards) {
  State section = State::dict({
      {"format_version", kCheckpointFormat},
      {"trainer", run.state.counters.state_dict()},
      {"accumulate_grad_batches", run.parts.options->accumulate_grad_batches},
      {"accumulation_scale", run.state.accumulation_scale.state()},
      {"module_modes", module_modes(run.module())},
      {"data_module", run.data_module() ? run.data_module()->state_dict() : State()},
      {"loggers", run.parts.loggers->state_dict()},
      {"strategy", run.parts.strategy.state().state_dict()},
      {"non_finite_step", run.view.non_finite_step() ? State(*run.view.non_finite_step()) : State()},
      {"stop_reason", run.state.stops.end_the_run() ? State(*run.state.stops.reason()) : State()},
      {"config", run.state.config.json},
      {"run", run.state.folder.id()},
      {"saved_at", unix_time()},
  });
  section["ranks"] = sections_of_ranks(run, shards);
  return section;
}

}  // namespace

void for_each_callback(RunContext& run, const std::function<void(const std::string& key, Callback& callback)>& visit) {
  std::map<std::string, int> seen;
  for (const CallbackEntry& entry : run.parts.callbacks) {
    std::string key = entry.callback->state_key();
    if (const int number = seen[key]++; number > 0) key += " " + std::to_string(number + 1);
    visit(key, *entry.callback);
  }
}

CheckpointContents checkpoint_of(RunContext& run, bool weights_only) {
  StrategyState& strategy = run.parts.strategy.state();
  std::optional<State> own;
  if (strategy.saves_shards()) own = State::dict();
  State* const shards = own ? &*own : nullptr;
  std::optional<SavePoints::ShardedWeights> sharded_weights;
  if (shards) sharded_weights.emplace(run.saves, *shards);
  const auto optimizers = static_cast<int64_t>(run.parts.optimizers.size());
  State checkpoint =
      State::dict({{"epoch", lightning_epoch(run.state.counters)},
                   {"global_step", lightning_global_step(run.state.counters, optimizers)},
                   {"pytorch-lightning_version", kLightningVersion},
                   {kStateDict, shards ? strategy.sharded_weights(*shards, kStateDict) : strategy.weights()},
                   {"loops", lightning_loops(run.state.counters, optimizers)}});
  if (!weights_only) {
    checkpoint["callbacks"] = callback_states(run);
    checkpoint["optimizer_states"] = optimizer_states(run, shards);
    checkpoint["lr_schedulers"] = scheduler_states(run);
    checkpoint["levin"] = levin_section(run, shards);
    checkpoint["levin"]["optimizer_parameters"] = optimizer_parameters(run, checkpoint.at("optimizer_states"));
    save_precision_state(run, checkpoint);
  }
  if (run.data_module() != nullptr)
    if (State learned = data::learned_section(*run.data_module()); !learned.is_none())
      checkpoint[kLearnedFromData] = std::move(learned);
  if (const std::string& hyperparameters = run.state.config.hyperparameters; hyperparameters != "{}") {
    checkpoint["hparams_name"] = "kwargs";
    checkpoint["hyper_parameters"] = state_of_json(hyperparameters);
  }
  if (weights_only)
    run.module().on_save_checkpoint(run.view, checkpoint);
  else
    run.parts.hooks.on_save_checkpoint(run.view, checkpoint);
  return {std::move(checkpoint), std::move(own)};
}

}  // namespace levin
