#include <levin/trainer/loops/checkpoint_state.h>
#include <ATen/core/grad_mode.h>
#include <levin/callbacks/callback.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/modules/module_modes.h>
#include <levin/modules/weights.h>
#include <levin/trainer/checkpoint/lightning_loops.h>
#include <levin/trainer/core/console.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/gather_states.h>
#include <levin/trainer/core/json_state.h>
#include <levin/trainer/core/logged_metric.h>
#include <levin/trainer/core/signals.h>
#include <levin/trainer/loops/precision_state.h>
#include <levin/trainer/loops/rank_sections.h>
#include <levin/trainer/loops/run_context.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace levin {
namespace {

constexpr int64_t kFormatVersion = 1;
/// The version of PyTorch Lightning whose layout the top-level keys have.
constexpr const char* kLightningVersion = "2.6.6";

int64_t count_of_optimizers(const RunContext& run) { return static_cast<int64_t>(run.optimizer_list.size()); }

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Several callbacks of one key are told apart by their number.
void for_each_callback(RunContext& run, const std::function<void(const std::string& key, Callback&)>& visit) {
  std::map<std::string, int> seen;
  for (const CallbackEntry& entry : run.callbacks) {
    std::string key = entry.callback->state_key();
    if (const int number = seen[key]++; number > 0) key += " " + std::to_string(number + 1);
    visit(key, *entry.callback);
  }
}

State callback_states(RunContext& run) {
  State states = State::dict();
  for_each_callback(run, [&](const std::string& key, Callback& callback) {
    State state = callback.state_dict();
    if (!state.is_none()) states[key] = std::move(state);
  });
  return states;
}

/// An optimizer whose state nobody knows how to save begins afresh.
State optimizer_state(RunContext& run, torch::optim::Optimizer& optimizer) try {
  return run.strategy.optimizer_state(optimizer);
} catch (const UsageError& error) {
  if (!std::exchange(run.said_optimizer_is_unknown, true))
    console::warn(
        std::string("checkpoints lack an optimizer's state, and a run that goes on from one begins with a new "
                    "one: ") +
        error.what());
  return State();
}

State optimizer_states(RunContext& run) {
  State states = State::list();
  for (const auto& optimizer : run.optimizer_list) states.push_back(optimizer_state(run, *optimizer));
  return states;
}

State scheduler_states(RunContext& run) {
  State states = State::list();
  for (const auto& scheduler : run.scheduler_list) states.push_back(scheduler->state_dict());
  return states;
}

State logger_states(RunContext& run) {
  State states = State::list();
  for (const auto& logger : run.loggers)
    states.push_back(State::dict({{"class", logger->name()}, {"state", logger->state_dict()}}));
  return states;
}

/// Gradients that the window at hand has gathered; under manual optimization all that there are.
State gathered_gradients(RunContext& run) {
  State gradients = State::dict();
  if (run.module().automatic_optimization && run.counters.window.position == 0) return gradients;
  for (const auto& parameter : run.module().named_parameters())
    if (const at::Tensor& gradient = parameter.value().grad(); gradient.defined())
      gradients[parameter.key()] = gradient;
  return gradients;
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

/// Whether a loader's place is that of all ranks.
bool are_in_step(const data::Loaders* loaders, const Comm& comm) {
  return comm.world_size() == 1 || loaders == nullptr ||
         std::ranges::all_of(*loaders, [](const auto& loader) { return loader->in_step(); });
}

/// What every rank has of its own. Between validations their loaders stand nowhere.
State section_of_rank(RunContext& run) {
  const bool validating = run.counters.batch_phase == BatchPhase::Validating;
  return State::dict({{"rng", run.rng()},
                      {"train_loader", loader_states(run.train_loaders)},
                      {"evaluation_loaders", validating ? loader_states(run.evaluation_loaders) : State::list()},
                      {"train_loader_in_step", are_in_step(run.train_loaders, run.comm())},
                      {"evaluation_loaders_in_step", are_in_step(run.evaluation_loaders, run.comm())},
                      {"gradients", gathered_gradients(run)},
                      {"sum_of_weights", run.counters.window.sum_of_weights},
                      {"metrics", metric_states(run.module())},
                      {"logged", run.sink.state_dict(run.module().registered_metrics(),
                                                     {.train = run.counters.last_batch, .evaluation = validating})}});
}

/// A signal or a job's time limit end a session, not the run.
bool stops_for_good(const RunContext& run) { return run.stop_reason && !run.session_ends && received_signal() == 0; }

State levin_section(RunContext& run) {
  State section = State::dict({
      {"format_version", kFormatVersion},
      {"trainer", run.counters.state_dict()},
      {"accumulate_grad_batches", run.options.accumulate_grad_batches},
      {"accumulation_scale", State::list({run.accumulation_scale.first, run.accumulation_scale.second})},
      {"module_modes", module_modes(run.module())},
      {"data_module", run.data_module() ? run.data_module()->state_dict() : State()},
      {"loggers", logger_states(run)},
      {"strategy", run.strategy.state_dict()},
      {"non_finite_step", run.non_finite_step() ? State(*run.non_finite_step()) : State()},
      {"stop_reason", stops_for_good(run) ? State(*run.stop_reason) : State()},
      {"config", run.config.json},
      {"run", run.run_folder.id()},
      {"saved_at", unix_time()},
  });
  section["ranks"] = State(gather_states(section_of_rank(run), run.comm()));
  return section;
}

/// Calls `part`; what it throws names the file first.
void with_file(const std::string& file, const std::function<void()>& part) {
  try {
    part();
  } catch (const Error& error) {
    throw UsageError(file, ": ", error.what());
  }
}

const State& weights_of(const State& checkpoint) {
  const State* weights = checkpoint.is_dict() ? checkpoint.find("state_dict") : nullptr;
  if (weights == nullptr || !weights->is_dict())
    throw UsageError("it is no checkpoint, it has no \"state_dict\"; weights alone are read by model.weights");
  return *weights;
}

/// Whether a run could go on from it, whatever its module and optimizers are.
void check_resumable(const State& checkpoint) {
  weights_of(checkpoint);
  if (checkpoint.find("optimizer_states") == nullptr || checkpoint.find("lr_schedulers") == nullptr)
    throw UsageError(
        "it holds weights only, and a run cannot go on from it; begin a new run with these weights (model.weights, or "
        "levin::load_weights)");
  if (const State* own = checkpoint.find("levin")) {
    const int64_t version = own->at("format_version").to_int();
    if (version > kFormatVersion)
      throw UsageError("its format has the version ", version, ", and this levin reads up to ", kFormatVersion,
                       "; use a newer levin");
  }
}

void check_optimizers(const RunContext& run, const State& checkpoint) {
  const State& optimizers = checkpoint.at("optimizer_states");
  const State& schedulers = checkpoint.at("lr_schedulers");
  if (optimizers.size() != run.optimizer_list.size())
    throw UsageError("it has ", optimizers.size(), " optimizers, configure_optimizers returned ",
                     run.optimizer_list.size());
  if (schedulers.size() != run.scheduler_list.size())
    throw UsageError("it has ", schedulers.size(), " learning-rate schedulers, configure_optimizers returned ",
                     run.scheduler_list.size());
}

/// The sum of the gradients that were gathered.
void apply_gradients(RunContext& run, const std::vector<const State*>& sections) {
  const at::NoGradGuard no_grad;
  for (const auto& parameter : run.module().named_parameters()) {
    at::Tensor sum;
    for (const State* section : sections)
      if (const State* saved = section->at("gradients").find(parameter.key())) {
        const at::Tensor one =
            saved->to_tensor().to(parameter.value().options(), /*non_blocking=*/false, /*copy=*/true);
        sum = sum.defined() ? sum + one : one;
      }
    if (sum.defined()) parameter.value().mutable_grad() = sum;
  }
}

/// What the window at hand weighs on this rank, and where it was begun by one rank, the weight it was begun with.
void apply_weights_of_window(RunContext& run, const RankSections& sections) {
  WindowState& window = run.counters.window;
  double sum = 0;
  for (const State* section : sections.taken_over()) {
    const State* const own = section->find("sum_of_weights");
    sum += own != nullptr ? own->to_double() : window.sum_of_weights;
  }
  window.sum_of_weights = sum;
  if (run.comm().world_size() > 1 && window.position > 0 && run.counters.reference_weight == 0)
    run.counters.reference_weight = window.first_weight;
}

void apply_metrics(const LightningModule& module, const RankSections& sections) {
  for (const auto& [name, metric] : module.registered_metrics()) {
    std::vector<State> counted;
    for (const State* section : sections.taken_over())
      if (const State* metrics = section->find("metrics"))
        if (const State* saved = metrics->find(name)) counted.push_back(*saved);
    if (sections.other_ranks()) metric->reset();
    if (counted.empty()) continue;
    metric->load_state_dict(counted.back());
    for (size_t i = counted.size() - 1; i > 0; --i) metric->prepend_state_dict(counted[i - 1]);
  }
}

void apply_loggers(RunContext& run, const State& saved) {
  for (size_t i = 0; i < run.loggers.size() && i < saved.size(); ++i) {
    const State& one = saved.items()[i];
    if (one.at("class").to_string() == run.loggers[i]->name() && !one.at("state").is_none())
      run.loggers[i]->load_state_dict(one.at("state"));
  }
}

/// Counts as they are with another number of ranks, each with batches as large as before, and as many in each step.
void keep_global_batch(RunContext& run, int64_t ranks_before) {
  TrainerState& counters = run.counters;
  const int64_t ranks = run.comm().world_size();
  if (ranks == ranks_before) return;
  const auto refuse = [&](const std::string& why) {
    throw UsageError("trainer.keep_global_batch: ", why, ", and ", ranks_before, " ranks are now ", ranks,
                     "; go on with ", ranks_before, " ranks, or set keep_global_batch to false");
  };
  if (counters.window.position != 0) refuse("it was saved in the middle of an accumulation window");
  if (counters.batch_phase == BatchPhase::Validating) refuse("it was saved in the middle of a validation");
  const int64_t in_each_step = counters.accumulate_grad_batches * ranks_before;
  if (in_each_step % ranks != 0) refuse(c10::str("each step has ", in_each_step, " batches"));
  counters.accumulate_grad_batches = in_each_step / ranks;
  auto& [times, by] = run.accumulation_scale;
  times *= ranks_before;
  by *= ranks;
  const int64_t common = std::gcd(times, by);
  times /= common;
  by /= common;
  for (int64_t* count :
       {&counters.batch_in_epoch, &counters.batches_seen, &counters.samples_seen, &counters.batches_of_last_epoch})
    *count = *count * ranks_before / ranks;
}

/// What only levin's own checkpoints have.
void apply_levin_section(RunContext& run, const State& own, bool goes_on) {
  const int64_t k = run.counters.accumulate_grad_batches;
  run.counters.load_state_dict(own.at("trainer"));
  run.counters.stage = Stage::Fit;
  // Another option of today wins over what the option was then.
  if (own.at("accumulate_grad_batches").to_int() != k)
    run.counters.accumulate_grad_batches = k;
  else if (const State* scale = own.find("accumulation_scale"))
    run.accumulation_scale = {scale->items().at(0).to_int(), scale->items().at(1).to_int()};
  const RankSections sections(own.at("ranks"), run.comm().rank(), run.comm().world_size());
  if (run.options.keep_global_batch) keep_global_batch(run, sections.saved());
  load_module_modes(run.module(), own.at("module_modes"));
  const State& data = own.at("data_module");
  if (run.data_module() && !data.is_none()) run.data_module()->load_state_dict(data);
  apply_loggers(run, own.at("loggers"));
  if (const State& step = own.at("non_finite_step"); !step.is_none()) run.loss_watch.restore(step.to_int());
  if (const State& reason = own.at("stop_reason"); goes_on && !reason.is_none()) run.request_stop(reason.to_string());
  // Under manual optimization gradients are the same on all ranks.
  const bool gathered = run.module().automatic_optimization;
  apply_gradients(run, gathered ? sections.taken_over() : std::vector<const State*>{&sections.own()});
  apply_weights_of_window(run, sections);
  apply_metrics(run.module(), sections);
  run.sink.load_state_dict(sections.logged(), run.module().registered_metrics());
  run.resume = sections.places();
}

void apply_lightning_loops(RunContext& run, const State& checkpoint) {
  const int64_t k = run.counters.accumulate_grad_batches;
  run.counters = state_of_lightning(checkpoint, count_of_optimizers(run));
  run.counters.accumulate_grad_batches = k;
}

}  // namespace

State checkpoint_of(RunContext& run, bool weights_only) {
  const int64_t optimizers = count_of_optimizers(run);
  State checkpoint = State::dict({{"epoch", lightning_epoch(run.counters)},
                                  {"global_step", lightning_global_step(run.counters, optimizers)},
                                  {"pytorch-lightning_version", kLightningVersion},
                                  {"state_dict", module_state_dict(run.module())},
                                  {"loops", lightning_loops(run.counters, optimizers)}});
  if (!weights_only) {
    checkpoint["callbacks"] = callback_states(run);
    checkpoint["optimizer_states"] = optimizer_states(run);
    checkpoint["lr_schedulers"] = scheduler_states(run);
    checkpoint["levin"] = levin_section(run);
    save_precision_state(run, checkpoint);
  }
  if (const std::string& hyperparameters = run.config.hyperparameters; hyperparameters != "{}") {
    checkpoint["hparams_name"] = "kwargs";
    checkpoint["hyper_parameters"] = state_of_json(hyperparameters);
  }
  if (weights_only)
    run.module().on_save_checkpoint(run, checkpoint);
  else
    run.hooks.on_save_checkpoint(run, checkpoint);
  return checkpoint;
}

void announce_checkpoint(RunContext& run, const State& checkpoint, const std::string& file) {
  with_file(file, [&] {
    if (run.fitting())
      check_resumable(checkpoint);
    else
      weights_of(checkpoint);
    run.hooks.on_load_checkpoint(run, checkpoint);
  });
}

void apply_checkpoint(RunContext& run, const State& checkpoint, const std::string& file, bool goes_on) {
  with_file(file, [&] {
    check_optimizers(run, checkpoint);
    check_module_state_dict(run.module(), weights_of(checkpoint));
    const State* const own = checkpoint.find("levin");
    // By it the state of optimizers may be divided.
    if (const State* strategy = own != nullptr ? own->find("strategy") : nullptr)
      run.strategy.load_state_dict(*strategy);
    const State::List& optimizers = checkpoint.at("optimizer_states").items();
    for (size_t i = 0; i < optimizers.size(); ++i)
      if (!optimizers[i].is_none()) run.strategy.load_optimizer_state(*run.optimizer_list[i], optimizers[i]);
    const State::List& schedulers = checkpoint.at("lr_schedulers").items();
    for (size_t i = 0; i < schedulers.size(); ++i) run.scheduler_list[i]->load_state_dict(schedulers[i]);
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
    run.begin_wall_seconds_at(run.counters.elapsed_seconds);
    run.resumed = true;
  });
}

void apply_weights(RunContext& run, const State& checkpoint, const std::string& file) {
  with_file(file, [&] { load_module_state_dict(run.module(), weights_of(checkpoint)); });
}

}  // namespace levin
