#include <levin/trainer/run/run_context.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/url_credentials.h>
#include <levin/modules/lightning_module.h>

namespace levin {

RunContext::RunContext(const RunParts& parts_, CheckpointOf checkpoint_of)
    : parts(parts_),
      state{.stops = StopRequests(parts.comm().processes() > 1)},
      saves(*this, checkpoint_of),
      view(*this) {
  const c10::Device device = parts.strategy.device();
  state.step_context = {.run = &view, .sink = &state.sink, .device = device};
  state.sink.set_comm(parts.comm(), device);
  state.sink.set_enabled(!parts.options->barebones);
  parts.strategy.set_context(state.step_context);
  enter(parts.stage, 0);
  state.counters.accumulate_grad_batches = parts.options->accumulate_grad_batches;
  state.config.hyperparameters = without_credentials(module().hyperparameters());
  ModuleAccess::enter_run(module(), state.step_context);
  module_lifetime_ = ModuleAccess::lifetime(module());
}

RunContext::~RunContext() {
  if (!has_ended() && !module_is_gone()) ModuleAccess::set_context(module(), nullptr);
}

void RunContext::check_module_exists(const char* call) const {
  if (module_is_gone())
    throw UsageError(call,
                     ": the module of the run is gone; keep it as long as the run is used, or hand the run a "
                     "shared_ptr to it");
}

void RunContext::end() {
  ModuleAccess::set_context(module(), nullptr);
  state.counters.elapsed_seconds = state.clock.seconds();
  rng_at_end_ = rng_state();
  leave_loop();
  state.loaders.train = state.loaders.evaluation = nullptr;
  driver_ = nullptr;
  saves.release();
  state.folder.unlock();
}

data::DataModule* RunContext::data_module() const {
  return parts.data_module && !has_ended() ? parts.data_module->module : nullptr;
}

StepParts RunContext::step_parts() {
  return {.options = parts.options,
          .module = module(),
          .overrides = parts.module.overrides,
          .strategy = parts.strategy,
          .precision = parts.precision,
          .optimizers = parts.optimizers,
          .counters = state.counters,
          .hooks = parts.hooks,
          .run = view,
          .context = state.step_context,
          .profiler = parts.profiler};
}

const std::vector<std::shared_ptr<torch::optim::Optimizer>>& RunContext::optimizers() {
  if (std::exchange(awaits_optimizers_, false)) driver_->configure_optimizers();
  return parts.optimizers;
}

void RunContext::log_row(const Metrics& values) {
  if (values.empty()) return;
  state.log_rows += 1;
  parts.loggers->log_metrics(values, log_position());
}

LogRow RunContext::log_position() const {
  return {.step = state.counters.global_step, .epoch = state.counters.epoch, .wall_seconds = state.clock.seconds()};
}

void RunContext::warn_once(const std::string& key, const std::string& text) {
  if (warned_.insert(key).second) console::warn(text);
}

void RunContext::leave_loop() {
  state.step_context.output = nullptr;
  state.step_context.optimizers = nullptr;
  awaits_optimizers_ = false;
}

void RunContext::enter(Stage stage, int64_t dataloader_idx) {
  state.counters.stage = state.step_context.stage = stage;
  state.step_context.dataloader_idx = dataloader_idx;
}

}  // namespace levin
