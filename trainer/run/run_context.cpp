#include <levin/trainer/run/run_context.h>
#include <levin/core/state/deep_copy.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/run/training_length.h>

#include <chrono>

namespace levin {
namespace {

template <class T>
T& or_throw(T* value, const char* name, const char* where) {
  if (value == nullptr) throw Error("run.", name, "(): there is none here; it can be read in ", where);
  return *value;
}

}  // namespace

RunContext::RunContext(const RunParts& parts, CheckpointOf checkpoint_of)
    : parts_(parts),
      stops_(parts.comm().processes() > 1),
      saver_({.comm = parts.comm(),
              .errors_are_warnings = parts.options.checkpoint_errors == "warn",
              .contents = [this, checkpoint_of](bool weights_only) { return checkpoint_of(*this, weights_only); },
              .on_save = [this](const std::filesystem::path& file) { folder_.note_checkpoint(file); },
              .run_folder = [this] { return folder_.path(); },
              .profiler = parts.profiler,
              .timeout = std::chrono::milliseconds(static_cast<int64_t>(parts.options.timeout_seconds * 1000))}) {
  step_context_ = {.run = this, .sink = &sink_, .device = parts.strategy.device()};
  sink_.set_comm(parts.comm(), parts.strategy.device());
  sink_.set_enabled(!parts.options.barebones);
  parts.strategy.set_context(step_context_);
  enter(parts.stage, 0);
  counters_.accumulate_grad_batches = parts.options.accumulate_grad_batches;
  config_.hyperparameters = module().hyperparameters();
  ModuleAccess::enter_run(module(), step_context_);
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
  counters_.elapsed_seconds = clock_.seconds();
  rng_at_end_ = rng_state();
  leave_loop();
  train_loaders_ = evaluation_loaders_ = nullptr;
  estimate_ = {};
  saver_.release();
  folder_.unlock();
}

State RunContext::weights() {
  if (divided_ == nullptr) return deep_copy(parts_.strategy.weights());
  State slices = State::dict();
  State weights = deep_copy(parts_.strategy.divided_weights(slices, c10::str("weights ", ++divided_sets_)));
  for (const auto& [key, slice] : slices.to_dict()) (*divided_)[key] = deep_copy(slice);
  return weights;
}

data::DataModule* RunContext::data_module() {
  const bool is_there = parts_.data_module && !has_ended();  // afterwards the caller may destroy it
  return is_there ? parts_.data_module->module : nullptr;
}

const Batch& RunContext::batch() const {
  return or_throw(in_hand_ != nullptr ? &in_hand_->batch() : nullptr, "batch", "batch hooks");
}
const StepOutput& RunContext::output() const {
  StepOutput& output = or_throw(step_context_.output, "output", "on_after_backward and on_train_batch_end");
  if (output.loss.defined() && output.loss.requires_grad()) output.loss = output.loss.detach();
  return output;
}
const Batch& RunContext::prediction() const {
  return or_throw(in_hand_ != nullptr ? in_hand_->prediction() : nullptr, "prediction", "on_predict_batch_end");
}

std::optional<int64_t> RunContext::max_epochs() const {
  const std::optional<int64_t> limit = parts_.is_fit() ? parts_.options.epoch_limit() : std::nullopt;
  return limit ? std::optional(*limit + extra_epochs_) : limit;
}

const std::vector<std::shared_ptr<torch::optim::Optimizer>>& RunContext::optimizers() {
  if (const auto configure = std::exchange(configure_optimizers_, {})) configure();
  return parts_.optimizers;
}

const std::vector<std::shared_ptr<LRScheduler>>& RunContext::lr_schedulers() {
  optimizers();
  return parts_.schedulers;
}

bool RunContext::validates_once_per_epoch() const {
  const ResolvedOptions& options = parts_.options;
  const bool never = evaluation_loaders_ == nullptr || evaluation_loaders_->empty();
  if (never && options.check_val_every_n_epoch == 1) return true;
  return options.val_check_interval == CheckInterval(1.0) && options.check_val_every_n_epoch == 1;
}

bool RunContext::minimum_is_reached() const {
  return counters_.epoch + counters_.last_batch >= parts_.options.min_epochs.value_or(0) &&
         counters_.global_step >= parts_.options.min_steps.value_or(0);
}

void RunContext::set_accumulate_grad_batches(int64_t k) {
  if (k < 1) throw UsageError("set_accumulate_grad_batches: expected at least 1, got ", k);
  counters_.accumulate_grad_batches = accumulation_scale_.on_ranks(k, comm().world_size());
}

StepParts RunContext::step_parts() {
  return {.options = parts_.options,
          .module = module(),
          .overrides = parts_.module.overrides,
          .strategy = parts_.strategy,
          .precision = parts_.precision,
          .optimizers = parts_.optimizers,
          .counters = counters_,
          .hooks = parts_.hooks,
          .run = *this,
          .context = step_context_,
          .profiler = parts_.profiler};
}

void RunContext::save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) {
  if (path.empty()) throw UsageError("save_checkpoint: expected the path of a file, got \"\"");
  if (!how.link_as.empty()) how.link_as = checkpoint_folder() / how.link_as;
  saver_.request({checkpoint_folder() / path, std::move(how)});
}

void RunContext::ask_all_ranks_to_save(const std::filesystem::path& path) { asked_of_all_ranks_.push_back(path); }

void RunContext::take_asked_saves() {
  for (const std::filesystem::path& path : std::exchange(asked_of_all_ranks_, {})) save_checkpoint(path, {});
  saver_.share_requests();
}

void RunContext::save_if_any_rank_asks() {
  take_asked_saves();
  save_if_asked();
}

void RunContext::save_now() {
  counters_.elapsed_seconds = clock_.seconds();
  saver_.save();
}

void RunContext::save_after_exception() {
  if (!saver_.has_requests()) return;
  if (config().json.empty()) {  // the set-up has not ended: there is nothing to save
    saver_.drop_requests();
    return;
  }
  if (comm().processes() > 1) {
    saver_.drop_requests();
    console::warn("no checkpoint is saved after the exception: the other ranks, which have parts of it, are not here");
    return;
  }
  counters_.window.position = 0;
  counters_.batch_phase = BatchPhase::Done;
  save_now();
  finish_saves();
}

void RunContext::log_row(const Metrics& values) {
  if (values.empty()) return;
  log_rows_ += 1;
  parts_.loggers->log_metrics(values, log_position());
}

LogRow RunContext::log_position() const {
  return {.step = counters_.global_step, .epoch = counters_.epoch, .wall_seconds = clock_.seconds()};
}

void RunContext::log_image(const std::string& name, const at::Tensor& image) {
  parts_.loggers->log_image(name, image, log_position());
}

void RunContext::log_histogram(const std::string& name, const at::Tensor& values) {
  parts_.loggers->log_histogram(name, values, log_position());
}

void RunContext::log_text(const std::string& name, const std::string& text) {
  parts_.loggers->log_text(name, text, log_position());
}

void RunContext::log_artifact(const std::filesystem::path& file, const std::string& folder) {
  parts_.loggers->log_artifact(file, folder);
}

void RunContext::warn_once(const std::string& key, const std::string& text) {
  if (warned_.insert(key).second) console::warn(text);
}

void RunContext::leave_loop() {
  step_context_.output = nullptr;
  step_context_.optimizers = nullptr;
  configure_optimizers_ = {};
}

void RunContext::enter(Stage stage, int64_t dataloader_idx) {
  counters_.stage = step_context_.stage = stage;
  step_context_.dataloader_idx = dataloader_idx;
}

BatchInHand::BatchInHand(RunContext& run, const Batch& batch, int64_t batch_idx, std::optional<Logging> logging)
    : run_(run), batch_(batch) {
  run_.in_hand_ = this;
  run_.batch_idx_ = batch_idx;
  if (logging) run_.sink_.enter_batch(batch, logging->step, logging->on_step_by_default);
}

BatchInHand::~BatchInHand() {
  run_.in_hand_ = nullptr;
  run_.sink_.leave_batch();
}

}  // namespace levin
