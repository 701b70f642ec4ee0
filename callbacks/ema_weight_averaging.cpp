#include <levin/callbacks/ema_weight_averaging.h>
#include <ATen/ops/scalar_tensor.h>
#include <levin/core/system/console.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/weights.h>

namespace levin {
namespace {

// PyTorch Lightning's keys of a checkpoint.
constexpr const char* kCurrent = "current_model_state";
constexpr const char* kAverages = "state_dict";
constexpr const char* kAveraging = "averaging_state";
constexpr const char* kOfModule = "module.";

}  // namespace

EMAWeightAveraging::EMAWeightAveraging(EMAWeightAveragingOptions options) : options_(options) {
  schema_of<Options>().check(&options_, "EMAWeightAveraging");
}

void EMAWeightAveraging::setup(Run& run) {
  if (!run.fitting()) return;
  ema_.reset();
  latest_update_step_ = 0;
  latest_update_epoch_ = -1;
  is_swapped_ = false;
  loaded_ = {};
}

void EMAWeightAveraging::on_load_checkpoint(Run& run, const State& checkpoint) {
  if (!run.fitting() || checkpoint.find(kCurrent) == nullptr || checkpoint.find(kAveraging) == nullptr) return;
  loaded_ = State::dict();
  for (const char* key : {kCurrent, kAverages, kAveraging}) loaded_[key] = checkpoint.at(key);
}

/// The module was loaded with the averages.
void EMAWeightAveraging::on_fit_start(Run& run) {
  ema_ = std::make_shared<optim::EMA>(
      run.module(), optim::EMAOptions{.decay = options_.decay, .use_buffers = options_.use_buffers, .own_parts = true});
  if (loaded_.is_none()) return;
  State state = loaded_.at(kAveraging);
  for (const auto& [name, average] : loaded_.at(kAverages).to_dict()) state[kOfModule + to_text(name)] = average;
  ema_->load_state_dict(state);
  load_module_state_dict(run.module(), loaded_.at(kCurrent));
  if (is_swapped_) ema_->swap();
  loaded_ = {};
}

bool EMAWeightAveraging::step_updates(int64_t step) const {
  return options_.update_every_n_steps > 0 && step % options_.update_every_n_steps == 0 &&
         step >= options_.update_starting_at_step.value_or(0);
}

void EMAWeightAveraging::on_train_batch_end(Run& run) { after_step(run); }

void EMAWeightAveraging::after_step(Run& run) {
  const int64_t steps = run.state().global_step;
  if (steps <= latest_update_step_ || !step_updates(steps - 1)) return;
  ema_->update();
  latest_update_step_ = steps;
}

void EMAWeightAveraging::on_train_epoch_end(Run& run) {
  const int64_t epoch = run.state().epoch;
  const bool due = options_.update_starting_at_epoch && epoch >= *options_.update_starting_at_epoch;
  // An epoch that is cut short is not at its end.
  if (!due || epoch <= latest_update_epoch_ || !run.state().last_batch) return;
  ema_->update();
  latest_update_epoch_ = epoch;
}

void EMAWeightAveraging::on_validation_epoch_start(Run& /*run*/) {
  if (!ema_ || ema_->updates() == 0) return;
  ema_->swap();
  is_swapped_ = true;
}

void EMAWeightAveraging::on_validation_epoch_end(Run& /*run*/) { swap_back(); }

void EMAWeightAveraging::swap_back() {
  if (ema_ && is_swapped_) ema_->swap();
  is_swapped_ = false;
}

void EMAWeightAveraging::on_fit_end(Run& run) {
  swap_back();
  if (ema_->updates() > 0)
    ema_->copy_to_module();
  else if (run.state().global_step > 0 && run.comm().is_global_zero())
    console::warn(
        "EMAWeightAveraging: the fit ended before the first update, so the module has its own weights; begin earlier "
        "(update_starting_at_step, update_starting_at_epoch, update_every_n_steps)");
  ema_.reset();
}

void EMAWeightAveraging::on_exception(Run& /*run*/, const std::exception& /*error*/) { swap_back(); }

/// Returns what `ema` holds now, in the layout of the module's weights; before the first update the module's own.
State EMAWeightAveraging::held_weights(Run& run, const State& of_module) const {
  if (ema_->updates() == 0) return of_module;
  if (ema_->is_divided()) {
    const auto held = ema_->apply();
    return run.weights();
  }
  const State held = ema_->state_dict();
  State weights = State::dict();
  for (const auto& item : of_module.to_dict()) weights[item.first] = held.at(kOfModule + to_text(item.first));
  return weights;
}

void EMAWeightAveraging::on_save_checkpoint(Run& run, State& checkpoint) {
  if (!ema_) return;
  const State of_module = checkpoint.at(kAverages);
  const State held = held_weights(run, of_module);
  checkpoint[kCurrent] = is_swapped_ ? held : of_module;
  checkpoint[kAverages] = is_swapped_ ? of_module : held;
  checkpoint[kAveraging] =
      State::dict({{"n_averaged", at::scalar_tensor(ema_->updates(), at::TensorOptions(at::kLong))}});
}

State EMAWeightAveraging::state_dict() const {
  return State::dict({{"latest_update_step", latest_update_step_},
                      {"latest_update_epoch", latest_update_epoch_},
                      {"is_swapped", is_swapped_}});
}

void EMAWeightAveraging::load_state_dict(const State& state) {
  latest_update_step_ = state.at("latest_update_step").to_int();
  if (const State* epoch = state.find("latest_update_epoch")) latest_update_epoch_ = epoch->to_int();
  const State* const swapped = state.find("is_swapped");
  is_swapped_ = swapped != nullptr && swapped->to_bool();
}

}  // namespace levin
