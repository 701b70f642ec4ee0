#include <levin/trainer/run/run_view.h>
#include <levin/core/system/error.h>
#include <levin/trainer/run/batch_in_hand.h>
#include <levin/trainer/run/run_context.h>

namespace levin {
namespace {

template <class T>
T& or_throw(T* value, const char* name, const char* where) {
  if (value == nullptr) throw Error("run.", name, "(): there is none here; it can be read in ", where);
  return *value;
}

}  // namespace

const TrainerState& RunView::state() const { return run_.state.counters; }
LightningModule& RunView::module() { return run_.module(); }
data::DataModule* RunView::data_module() { return run_.data_module(); }
c10::Device RunView::device() const { return run_.parts.strategy.device(); }
Comm& RunView::comm() { return run_.comm(); }
const std::filesystem::path& RunView::folder() const { return run_.state.folder.path(); }
const std::vector<CallbackEntry>& RunView::callbacks() const { return run_.parts.callbacks; }
Profiler* RunView::profiler() const { return run_.parts.profiler; }
bool RunView::fitting() const { return run_.parts.is_fit(); }

const Batch& RunView::batch() const {
  const BatchInHand* const in_hand = run_.state.in_hand;
  return or_throw(in_hand != nullptr ? &in_hand->batch() : nullptr, "batch", "batch hooks");
}
int64_t RunView::batch_idx() const { return run_.state.batch_idx; }
int64_t RunView::dataloader_idx() const { return run_.state.step_context.dataloader_idx; }
const StepOutput& RunView::output() const {
  StepOutput& output = or_throw(run_.state.step_context.output, "output", "on_after_backward and on_train_batch_end");
  if (output.loss.defined() && output.loss.requires_grad()) output.loss = output.loss.detach();
  return output;
}
const Batch& RunView::prediction() const {
  const BatchInHand* const in_hand = run_.state.in_hand;
  return or_throw(in_hand != nullptr ? in_hand->prediction() : nullptr, "prediction", "on_predict_batch_end");
}

std::optional<int64_t> RunView::max_epochs() const {
  const std::optional<int64_t> limit = fitting() ? run_.parts.options.epoch_limit() : std::nullopt;
  return limit ? std::optional(*limit + run_.state.extra_epochs) : limit;
}
std::optional<int64_t> RunView::num_batches() const { return run_.state.loaders.batches; }
std::optional<int64_t> RunView::estimated_stepping_batches() { return run_.estimated_steps(); }

bool RunView::validates_once_per_epoch() const {
  const ResolvedOptions& options = run_.parts.options;
  const data::Loaders* const loaders = run_.state.loaders.evaluation;
  const bool never = loaders == nullptr || loaders->empty();
  if (never && options->check_val_every_n_epoch == 1) return true;
  return options->val_check_interval == CheckInterval(1.0) && options->check_val_every_n_epoch == 1;
}

bool RunView::minimum_is_reached() const {
  const TrainerState& counters = state();
  return counters.epoch + counters.last_batch >= run_.parts.options->min_epochs.value_or(0) &&
         counters.global_step >= run_.parts.options->min_steps.value_or(0);
}

const std::vector<std::shared_ptr<torch::optim::Optimizer>>& RunView::optimizers() { return run_.optimizers(); }
const std::vector<std::shared_ptr<LRScheduler>>& RunView::lr_schedulers() {
  run_.optimizers();
  return run_.parts.schedulers;
}

const Metrics& RunView::metrics() const { return run_.state.sink.all(); }
const Metrics& RunView::progress_bar_metrics() const { return run_.state.sink.progress_bar(); }
std::optional<double> RunView::metric(const std::string& name) const { return run_.state.sink.newest(name); }
std::optional<int64_t> RunView::non_finite_step() const { return run_.state.loss_watch.first_step(); }

void RunView::log(const std::string& name, double value, LogOptions how) { run_.state.sink.log(name, value, how); }
void RunView::log_image(const std::string& name, const at::Tensor& image) {
  run_.parts.loggers->log_image(name, image, run_.log_position());
}
void RunView::log_histogram(const std::string& name, const at::Tensor& values) {
  run_.parts.loggers->log_histogram(name, values, run_.log_position());
}
void RunView::log_text(const std::string& name, const std::string& text) {
  run_.parts.loggers->log_text(name, text, run_.log_position());
}
void RunView::log_artifact(const std::filesystem::path& file, const std::string& folder) {
  run_.parts.loggers->log_artifact(file, folder);
}

void RunView::request_stop(const std::string& reason) { run_.state.stops.request(reason); }
void RunView::save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) {
  run_.saves.request(path, std::move(how));
}
State RunView::weights() { return run_.saves.weights(); }
bool RunView::resumes_in_place() const { return run_.state.folder.is_resumed(); }
const std::filesystem::path& RunView::resumed_from() const { return run_.state.resumption.file(); }
bool RunView::takes_present_options() const {
  return run_.parts.options->resume_optimizer_options == ResumedOptions::Present;
}
std::filesystem::path RunView::checkpoint_folder() const { return folder() / "checkpoints"; }

void RunView::set_accumulate_grad_batches(int64_t k) {
  if (k < 1) throw UsageError("set_accumulate_grad_batches: expected at least 1, got ", k);
  run_.state.counters.accumulate_grad_batches = run_.state.accumulation_scale.on_ranks(k, run_.comm().world_size());
}

}  // namespace levin
