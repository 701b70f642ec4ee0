#include <levin/trainer/fit/assembly.h>
#include <ATen/Context.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/url_credentials.h>
#include <levin/data/learned_state.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/channels_last.h>
#include <levin/modules/trained_weights.h>
#include <levin/trainer/profilers/registry.h>
#include <levin/trainer/resume/checkpoint_contents.h>
#include <levin/trainer/run_folder/find_checkpoint.h>
#include <levin/trainer/run_folder/run_environment.h>
#include <levin/trainer/strategies/profiled_strategy.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace levin {
namespace {

std::unique_ptr<Profiler> make_profiler(const Placement& placement, const ResolvedOptions& options,
                                        const LightningModule& module,
                                        const std::optional<data::DataModuleRef>& data_module, bool trial) {
  if (!options->profiler || trial || placement.is_dry_run) return {};
  return options->profiler.make("trainer.profiler",
                                Profiler::Parts{.module = class_name_of(module),
                                                .data_module = data_module ? class_name_of(*data_module->module) : "",
                                                .strategy = placement.strategy.traits.class_name});
}

}  // namespace

Assembly::Assembly(const ResolvedOptions& options, const Placement& placement, ProcessGroup* ranks, ModuleRef module,
                   const std::optional<data::DataModuleRef>& data_module, Stage stage, bool trial)
    : module_(*module.module),
      placement_(placement),
      ranks_(ranks),
      first_of_machine_(!placement.environment || placement.environment->local_rank == 0),
      warnings_(std::make_shared<console::WarningList>(options->print_warnings)),
      profiler_(make_profiler(placement, options, module_, data_module, trial)),
      strategy_(make_strategy(placement, options, ranks, module_, profiler_.get())),
      precision_(make_precision(options->precision, options->amp_level && *options->amp_level == AmpLevel::O2,
                                strategy_->device(), !options->keep_torch_settings)),
      parts_{.options = options,
             .module = module,
             .data_module = data_module,
             .strategy = *strategy_,
             .precision = *precision_,
             .stage = stage,
             .trial = trial,
             .channels_last = options->memory_format == MemoryLayout::ChannelsLast,
             .profiler = profiler_.get()},
      callbacks_(parts_, module_),
      run_(parts_, checkpoint_of) {
  process_.emplace(options);
  for (const std::string& warning : options.warnings()) warnings_->add(warning);
  {
    const console::WarningScope warnings(warnings_);
    process_->seed(options, strategy_->comm().rank(), strategy_->device());
  }
  const RunScope scope = this->scope();
  callbacks_.add_all();
}

void Assembly::prepare_data() {
  if (first_of_machine_) {
    if (data::DataModule* data = run_.data_module()) {
      const ProfileSpan span(profiler_.get(), Action::DataPrepare);
      data->prepare_data();
    }
    module_.prepare_data();
  }
  strategy_->comm().barrier();
}

void Assembly::setup(const ReadCheckpoint* checkpoint) {
  prepare_data();
  if (data::DataModule* data = run_.data_module()) {
    if (const State* learned = checkpoint != nullptr ? checkpoint->state.find(kLearnedFromData) : nullptr)
      data::use_learned_section(*data, *learned, checkpoint->file.string());
    const ProfileSpan span(profiler_.get(), Action::DataSetup);
    data->setup(parts_.stage);
  }
  setup_module();
}

void Assembly::setup_module() {
  parts_.hooks.setup(run_.view);
  strategy_->configure_model(module_);
  if (parts_.options->activation_checkpointing && set_checkpoint_activations(module_, true) == 0)
    throw UsageError(
        "trainer.activation_checkpointing: the module has no part that is marked for it; derive the parts "
        "that are repeated from levin::Checkpointable, as those of GPT are");
  place();
}

void Assembly::place() {
  precision_->convert_module(module_);
  strategy_->place(module_);
  if (parts_.channels_last) to_channels_last(module_);
  attach_adapters(module_);  // what came before may have replaced the memory of weights
}

void Assembly::configure_optimizers(const FoundRate& found) {
  row_trackers_ =
      levin::configure_optimizers(parts_, module_, found, [this] { return run_.view.estimated_stepping_batches(); });
}

RunConfig Assembly::config_of_run(RunConfig given) const {
  const Json config = {{"trainer", schema_of<TrainerOptions>().get(&*parts_.options)}};
  if (given.json.empty()) given.json = config.dump(2) + "\n";
  if (given.hyperparameters.empty()) given.hyperparameters = module_.hyperparameters();
  given.json = without_credentials(std::move(given.json));
  given.hyperparameters = without_credentials(std::move(given.hyperparameters));
  return given;
}

void Assembly::open_run_folder(FoundCheckpoint* found, const std::string& start) {
  const ResolvedOptions& options = parts_.options;
  if (parts_.trial || !options.has_run_folder()) return;
  const bool resumes = found != nullptr && found->resumes_in_place;
  if (parts_.is_rank_zero())
    run_.state.folder =
        resumes ? RunFolder::resume(*found, start) : RunFolder::create(options->default_root_dir, options->name, start);
  const std::string path = broadcast_text(run_.view.folder().string(), run_.comm());
  if (!parts_.is_rank_zero()) {
    run_.state.folder = RunFolder::of_rank_zero(path, resumes);
    return;
  }
  run_.state.folder.write_config(run_.state.config.json);
  add_session_environment(run_.view.folder(), {.where = parts_.strategy.where(),
                                               .strategy = parts_.options.strategy().name,
                                               .precision = parts_.precision.name(),
                                               .ranks = run_.comm().processes()});
  parts_.loggers = std::make_shared<LoggerCollection>(options->logger.make(run_.view.folder()), parts_.profiler);
  parts_.loggers->log_hyperparameters(run_.state.config.hyperparameters);
  parts_.loggers->log_graph(run_.module());
}

void Assembly::begin_profile(Action step) {
  if (!profiler_) return;
  profiler_->begin({.stage = parts_.stage,
                    .folder = run_.view.folder(),
                    .device = strategy_->device(),
                    .module = &module_,
                    .rank = run_.comm().rank(),
                    .world_size = run_.comm().world_size(),
                    .prints = parts_.is_rank_zero() && !parts_.options->quiet,
                    .step = step});
}

ProfileTotals Assembly::profile() const { return profiler_ ? profiler_->totals() : ProfileTotals(); }

void Assembly::teardown() {
  if (data::DataModule* data = run_.data_module()) {
    const ProfileSpan span(profiler_.get(), Action::DataTeardown);
    data->teardown(parts_.stage);
  }
  parts_.hooks.teardown(run_.view);
  strategy_->give_back();
  if (profiler_) profiler_->finish();
}

void Assembly::end() {
  run_.end();
  process_->restore();
}

at::Generator Assembly::generator() const {
  const RunScope scope = this->scope();
  return default_generator();
}

void Assembly::guarded(const std::function<void()>& body) {
  const RunScope scope = this->scope();
  try {
    body();
  } catch (const std::exception& error) {
    failed(error);
    throw;
  } catch (...) {
    failed(Error("an exception that is no std::exception"));
    throw;
  }
}

void Assembly::failed(const std::exception& error) {
  std::optional<ProcessGroup::CollectivesBlock> others_are_elsewhere;
  if (ranks_ != nullptr) others_are_elsewhere.emplace(*ranks_);
  run_.state.sink.leave_ranks();
  run_.leave_loop();
  // The original exception is rethrown later, and each part is called even if another one throws.
  const auto call = [](const char* part, const std::function<void()>& body) {
    try {
      body();
    } catch (const std::exception& second) {
      console::warn(c10::str(part, " threw as well: ", second.what()));
    } catch (...) {
      console::warn(c10::str(part, " threw as well"));
    }
  };
  for (Hooks* receiver : parts_.hooks.receivers(Hook::on_exception))
    call("on_exception", [&] { receiver->on_exception(run_.view, error); });
  call("the save after the exception", [&] { run_.saves.save_after_exception(); });
  parts_.loggers->log_exception(message_of(error));
  parts_.loggers->finalize("failed");
  if (profiler_) call("the profiler", [&] { profiler_->finish(); });
}

}  // namespace levin
