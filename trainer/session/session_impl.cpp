#include <levin/trainer/session/session_impl.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/device/rng_state.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>

namespace levin {
namespace {

/// Warns of the host's states in a checkpoint that the host of the resumed session has not registered.
void warn_of_lost_states(const State& saved, const std::map<std::string, std::function<State()>>& registered) {
  for (const auto& [key, state] : saved.to_dict()) {
    const std::string name = to_text(key);
    if (!registered.contains(name))
      console::warn("the checkpoint has the host's state \"" + name +
                    "\", which this session did not register: the next checkpoints lack it");
  }
}

}  // namespace

class Session::Impl::Turn {
 public:
  Turn(Impl& session, const char* call) : session_(session) {
    session_.refuse_inside(call);
    lock_ = std::unique_lock(session_.updates);
    session_.inside_ = std::this_thread::get_id();
  }
  ~Turn() { session_.inside_ = std::thread::id(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Impl& session_;
  std::unique_lock<std::mutex> lock_ = {};
};

Session::Impl::Impl(SessionSetup setup)
    : options_(std::move(setup.options)),
      placement_(std::move(setup.placement)),
      ranks_(std::move(setup.ranks)),
      host_saves_(setup.session.host_saves),
      inputs_{.ckpt_path = setup.session.ckpt_path},
      assembly_(options_, placement_, ranks_.get(), setup.module, /*data_module=*/{}, Stage::Fit),
      run_(assembly_.run()),
      fit_(assembly_, {.inputs = inputs_,
                       .config = std::move(setup.config),
                       .found_rate = setup.found_rate,
                       .start = setup.start,
                       .runs = options_.runs_folder(),
                       .profiled_step = Action::RunTrainingBatch,
                       .host_states = [this] { return host_states(); }}),
      schedule_(options_),
      steps_(run_, schedule_) {
  run_.state.loaders.planned_batches.emplace(setup.session.batches_per_epoch);
  fit_.begin();
  guarded([&] { begin(); });
}

void Session::Impl::begin() {
  const at::AutoGradMode gradients(true);
  if (run_.state.counters.batch_phase == BatchPhase::Validating)
    throw UsageError(
        "the checkpoint was saved inside a validation of fit, which a session cannot continue; resume it "
        "with fit, or from another checkpoint");
  steps_.begin();
  run_.state.sink.use_train_table();
  run_.parts.hooks.on_train_start(run_.view);
  if (const State* places = run_.state.resumption.places()) {
    // Restored last, because the code above may draw random numbers.
    load_rng_state(places->at("rng"));
    if (const State* host = places->find("host")) resumed_host_states_ = *host;
  }
  steps_.agreement().now();
  run_.saves.hold(host_saves_);
  is_over_ = steps_.is_over();
  publish_state();
}

template <class Part>
void Session::Impl::guarded(const Part& part) {
  try {
    fit_.guarded(std::cref(part));
  } catch (...) {
    phase_ = Phase::Failed;
    throw;
  }
}

void Session::Impl::check_running(const char* call) const {
  if (phase_ == Phase::Failed) throw UsageError("Session::", call, ": the session has ended by an exception");
  if (phase_ == Phase::Finished) throw UsageError("Session::", call, ": the session is finished");
  if (run_.module_is_gone()) run_.check_module_exists((std::string("Session::") + call).c_str());
}

void Session::Impl::refuse_inside(const char* call) const {
  if (inside_ != std::this_thread::get_id()) return;
  throw UsageError("Session::", call,
                   ": called inside of a step or a validation of this session, by a hook or a loss; call it between "
                   "steps");
}

BatchPlace Session::Impl::place(data::LoadedBatch& loaded) {
  if (loader_) return loader_->place(loaded);
  return {.samples = loaded.samples,
          .last = loaded.last,
          .on_ranks = {.is_idle = loaded.absent, .ranks_with_batch = run_.parts.comm().world_size()}};
}

StepResult Session::Impl::step(data::LoadedBatch loaded, StepProgram* program) {
  refuse_inside("step");  // before it would look like another thread's step
  if (is_busy_.exchange(true))
    throw UsageError("Session::step: another thread is in a step of this session; one thread trains");
  const auto leave = c10::make_scope_exit([&] { is_busy_ = false; });
  check_running("step");
  if (program != nullptr && options_->cuda_graphs)
    throw UsageError("trainer.cuda_graphs: a loss that the host computes cannot be captured; set cuda_graphs to false");
  StepResult result;
  if (control.is_paused()) control.wait_while_paused();
  {
    const Turn turn(*this, "step");
    check_running("step");  // another thread may have finished the session meanwhile
    guarded([&] {
      const at::AutoGradMode gradients(true);
      finish_turn();
      if (is_over_) {
        result.trained = false;
        return;
      }
      if (!has_stepped_) {
        warn_of_lost_states(resumed_host_states_, host_states_);
        run_.state.resumption.drop_places();
      }
      has_stepped_ = true;
      if (!steps_.is_inside_epoch()) steps_.begin_epoch();
      BatchPlace place = this->place(loaded);
      place.program = program;
      place.wants_loss = true;
      TrainingStep::Outcome outcome = steps_.run_batch(std::move(loaded.batch), place);
      result.loss = std::move(outcome.loss);
      result.stepped = outcome.stepped;
      result.skipped = outcome.skipped;
      result.ended_epoch = at_end_of_epoch();
    });
  }
  after_step();
  return result;
}

void Session::Impl::after_step() {
  publish_state();
  if (!progress) return;
  const double now = run_.state.clock.seconds();
  if (now - progress_at_ < progress_every_seconds) return;
  progress_at_ = now;
  progress(control.state());
}

void Session::Impl::publish_state() {
  const TrainerState& counters = run_.state.counters;
  const bool has_new_metrics = rows_shown_ != run_.state.log_rows;
  rows_shown_ = run_.state.log_rows;
  control.publish({.epoch = counters.epoch,
                   .global_step = counters.global_step,
                   .batches = counters.batches_seen,
                   .samples = counters.samples_seen,
                   .seconds = counters.elapsed_seconds,
                   .is_over = is_over_},
                  has_new_metrics ? &run_.view.metrics() : nullptr);
}

void Session::Impl::take_requests() {
  if (!control.has_requests()) return;
  SessionControl::Requests requests = control.take_requests();
  if (requests.stop) run_.view.request_stop(*requests.stop);
  for (const std::filesystem::path& path : requests.saves) run_.saves.ask_all_ranks(path);
}

void Session::Impl::finish_turn() {
  take_requests();
  steps_.finish_batch();
  if (at_end_of_epoch()) steps_.end_epoch();
  is_over_ = steps_.is_over();
}

bool Session::Impl::next() {
  if (!is_running()) return false;
  check_running("next");
  {
    const Turn turn(*this, "next");
    guarded([&] {
      const at::AutoGradMode gradients(true);
      finish_turn();
    });
  }
  if (is_over_) publish_state();
  return !is_over_;
}

void Session::Impl::end_epoch() {
  check_running("end_epoch");
  {
    const Turn turn(*this, "end_epoch");
    guarded([&] {
      const at::AutoGradMode gradients(true);
      finish_turn();
      if (!steps_.is_inside_epoch()) throw UsageError("Session::end_epoch: the epoch has no batch");
      steps_.end_unannounced();
    });
  }
  after_step();
}

std::vector<Metrics> Session::Impl::validate(data::Loaders loaders) {
  check_running("validate");
  const Turn turn(*this, "validate");
  guarded([&] {
    validation_.emplace(run_, Stage::Validate,
                        [&] { return loaders.empty() ? run_.module().val_dataloader() : std::move(loaders); });
    validation_->load();
    if (!validation_->enabled())
      throw UsageError(
          "Session::validate: there is nothing to do: the module needs a validation_step, and a loader must "
          "be given");
    // A session resumes between validations, so a checkpoint that one asks for is saved when it is over.
    run_.saves.hold(true);
    validation_->run();
    run_.saves.hold(host_saves_);
    run_.saves.save_if_asked();
    steps_.agreement().now();
  });
  publish_state();
  return run_.state.sink.by_loader();
}

void Session::Impl::set_loader(data::Loaders loaders) {
  check_running("loader");
  if (loader_) throw UsageError("Session::loader: the session has a loader; give several loaders in one call");
  if (has_stepped_) throw UsageError("Session::loader: call it before the first step");
  guarded([&] {
    std::optional<RngGuard> as_restored;
    if (run_.state.resumption.is_resumed()) as_restored.emplace();
    loader_.emplace(run_, ready_for_training(run_.parts, loaders));
    if (run_.state.resumption.is_resumed()) loader_->resume();
  });
}

data::LoadedBatch Session::Impl::next_batch() {
  check_running("loader");
  data::LoadedBatch batch;
  guarded([&] {
    const at::AutoGradMode gradients(true);
    const auto in_new_epoch = [&] {
      const Turn turn(*this, "loader");
      finish_turn();
      if (is_over_) throw UsageError("Session::loader: the session is over; ask Session::next() before each batch");
      loader_->set_epoch(run_.state.counters.epoch);
    };
    if (at_end_of_epoch() || !steps_.is_inside_epoch()) in_new_epoch();
    std::optional<data::LoadedBatch> next = loader_->next();
    if (!next && steps_.is_inside_epoch()) {
      {
        const Turn turn(*this, "loader");
        finish_turn();
        steps_.end_unannounced();
      }
      in_new_epoch();
      next = loader_->next();
    }
    if (!next) throw UsageError("Session::loader: the loader gave no batch");
    batch = std::move(*next);
  });
  return batch;
}

void Session::Impl::save(const std::filesystem::path& path, SaveCheckpointOptions how) {
  check_running("save");
  guarded([&] {
    take_requests();
    run_.saves.hold(false);
    if (!path.empty()) run_.view.save_checkpoint(path, std::move(how));
    run_.saves.save_if_any_rank_asks();
    run_.saves.hold(host_saves_);
  });
}

void Session::Impl::register_state(const std::string& name, std::function<State()> save,
                                   std::function<void(const State&)> load) {
  check_running("register_state");
  if (has_stepped_) throw UsageError("Session::register_state: \"", name, "\": call it before the first step");
  if (!host_states_.try_emplace(name, std::move(save)).second)
    throw UsageError("Session::register_state: there is a state \"", name, "\" already");
  if (const State* saved = resumed_host_states_.find(name)) guarded([&] { load(*saved); });
}

State Session::Impl::host_states() const {
  if (host_states_.empty()) return {};
  State states = State::dict();
  for (const auto& [name, save] : host_states_) states[name] = save();
  return states;
}

RunResult Session::Impl::finish() {
  check_running("finish");
  const Turn turn(*this, "finish");
  const auto wake = c10::make_scope_exit([&] { control.resume(); });  // a step that waits ends with an error
  guarded([&] {
    const at::AutoGradMode gradients(true);
    finish_turn();
    if (steps_.is_inside_epoch()) steps_.end_epoch();
    steps_.end();
    run_.saves.hold(false);
    run_.saves.save_if_any_rank_asks();
  });
  is_over_ = true;
  publish_state();
  phase_ = Phase::Failed;  // unless the following succeeds
  RunResult result = fit_.end();
  phase_ = Phase::Finished;
  return result;
}

void Session::Impl::finish_or_fail() noexcept {
  if (!is_running()) return;
  if (run_.module_is_gone()) {
    console::warn("the session was not finished, since its module is gone: nothing was saved at its end");
    return;
  }
  try {
    if (std::uncaught_exceptions() > exceptions_at_start_)
      guarded([] { throw Error("the host program left the session by an exception"); });
    else
      finish();
  } catch (const std::exception& error) {
    console::warn(std::string("the session ended with an error: ") + error.what());
  } catch (...) {
    console::warn("the session ended with an error that is no std::exception");
  }
}

}  // namespace levin
