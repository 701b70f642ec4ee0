#include <levin/trainer/tuner/trial_callback.h>
#include <levin/core/run/logged_metric.h>
#include <levin/core/state/deep_copy.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/trainer/tuner/module_snapshot.h>

namespace levin {
namespace {

/// Returns none for an optimizer whose state cannot be saved.
State state_or_none(torch::optim::Optimizer& optimizer) try {
  return deep_copy(optim::optimizer_state_dict(optimizer));
} catch (const UsageError&) {
  return {};
}

}  // namespace

void TrialState::keep(Run& run) {
  if (of_module_) return;
  for (const auto& optimizer : run.optimizers()) optimizers_.push_back(state_or_none(*optimizer));
  for (const auto& [name, metric] : run.module().registered_metrics())
    metrics_.emplace_back(name, deep_copy(metric->state_dict()));
  State added = State::dict();
  run.module().on_save_checkpoint(run, added);
  of_module_ = deep_copy(added);
}

void TrialState::put_back(Run& run) const {
  if (!of_module_) return;
  for (size_t i = 0; i < optimizers_.size() && i < run.optimizers().size(); ++i)
    if (!optimizers_[i].is_none()) optim::load_optimizer_state_dict(*run.optimizers()[i], optimizers_[i]);
  for (const auto& [name, metric] : run.module().registered_metrics())
    for (const auto& [kept_name, kept] : metrics_)
      if (kept_name == name) metric->load_state_dict(deep_copy(kept));
  run.module().on_load_checkpoint(run, deep_copy(*of_module_));
}

void TrialCallback::use(TrialState& state, ModuleSnapshot& snapshot) {
  state_ = &state;
  snapshot_ = &snapshot;
}

void TrialCallback::on_fit_start(Run& run) {
  snapshot_->add_new();
  state_->keep(run);
  begin(run);
}

void TrialCallback::on_train_batch_end(Run& run) {
  if (run.state().window.position == 0) step_done(run);
  if (received_signal() != 0) throw Error("levin::tune was stopped by ", signal_name(received_signal()));
}

void TrialCallback::finish(Run& run) {
  end(run);
  state_->put_back(run);
}

void TrialCallback::teardown(Run& run) { finish(run); }
void TrialCallback::on_exception(Run& run, const std::exception& /*error*/) { finish(run); }

}  // namespace levin
