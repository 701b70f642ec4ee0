#include <levin/trainer/loops/run_context.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <levin/trainer/checkpoint/checkpoint_contents.h>
#include <levin/trainer/core/ranks/gather_states.h>
#include <levin/trainer/core/system/console.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/loops/training_step.h>

namespace levin {
namespace {

template <class T>
const T& or_throw(const T* value, const char* name, const char* where) {
  if (value == nullptr) throw Error("run.", name, "(): there is none here; it can be read in ", where);
  return *value;
}

}  // namespace

RunContext::RunContext(const TrainerOptions& options_, ModuleRef module, std::optional<data::DataModuleRef> data_module,
                       Strategy& strategy_, PrecisionPlugin& precision_, Stage stage)
    : options(options_),
      strategy(strategy_),
      precision(precision_),
      module_(module),
      fitting_(stage == Stage::Fit),
      channels_last_(options_.memory_format == "channels_last"),
      data_module_(data_module) {
  step_context = {.run = this, .sink = &sink, .device = strategy.device()};
  sink.set_comm(strategy.comm(), strategy.device());
  strategy.set_context(step_context);
  enter(stage, 0);
  counters.accumulate_grad_batches = options.accumulate_grad_batches;
  config.hyperparameters = module_.module->hyperparameters();
  module_.module->set_context(&step_context);
}

RunContext::~RunContext() {
  if (!ended_) module_.module->set_context(nullptr);
}

void RunContext::end() {
  module_.module->set_context(nullptr);
  counters.elapsed_seconds = wall_seconds();
  rng_at_end_ = rng_state();
  leave_loop();
  train_loaders = evaluation_loaders = nullptr;
  total_steps = {};
  writer.release();
  data_module_.reset();
  run_folder.unlock();
  ended_ = true;
}

const Batch& RunContext::batch() const { return or_throw(current_batch, "batch", "batch hooks"); }
const StepOutput& RunContext::output() const {
  StepOutput* const output = step != nullptr ? step->output() : nullptr;
  or_throw(output, "output", "on_after_backward and on_train_batch_end");
  if (output->loss.defined() && output->loss.requires_grad()) output->loss = output->loss.detach();
  return *output;
}
const Batch& RunContext::prediction() const {
  return or_throw(current_prediction, "prediction", "on_predict_batch_end");
}

const std::vector<std::shared_ptr<torch::optim::Optimizer>>& RunContext::optimizers() {
  if (const auto configure = std::exchange(configure_optimizers, {})) configure();
  return optimizer_list;
}

const std::vector<std::shared_ptr<LRScheduler>>& RunContext::lr_schedulers() {
  optimizers();
  return scheduler_list;
}

bool RunContext::validates_once_per_epoch() const {
  const bool never = evaluation_loaders == nullptr || evaluation_loaders->empty();
  if (never && options.check_val_every_n_epoch == 1) return true;
  return options.val_check_interval == CheckInterval(1.0) && options.check_val_every_n_epoch == 1;
}

void RunContext::request_stop(const std::string& reason) {
  if (!stop_reason) stop_reason = reason;
}

void RunContext::set_accumulate_grad_batches(int64_t k) {
  if (k < 1) throw UsageError("set_accumulate_grad_batches: expected at least 1, got ", k);
  counters.accumulate_grad_batches = accumulation_on_these_ranks(k);
}

int64_t RunContext::accumulation_on_these_ranks(int64_t k) const {
  const auto [times, by] = accumulation_scale;
  if (k * times % by != 0)
    throw UsageError("trainer.keep_global_batch: ", k, " batches of each rank in a step cannot be divided among ",
                     strategy.comm().world_size(), " ranks, which are ",
                     static_cast<double>(by) / static_cast<double>(times),
                     " times as many as it was meant for; go on with as many as the run began with");
  return k * times / by;
}

void RunContext::divide_among_ranks(const data::Loaders& loaders) const {
  const Comm& ranks = strategy.comm();
  if (ranks.world_size() == 1 || !options.use_distributed_sampler) return;
  for (const auto& loader : loaders) loader->shard(ranks.rank(), ranks.world_size());
}

StepParts RunContext::step_parts() {
  return {options, module(), overrides(), strategy, precision, optimizer_list, counters, hooks, *this, step_context};
}

std::filesystem::path RunContext::checkpoint_folder() const { return run_folder.path() / "checkpoints"; }

void RunContext::save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) {
  if (path.empty()) throw UsageError("save_checkpoint: expected the path of a file, got \"\"");
  save_requests_.push_back({checkpoint_folder() / path, std::move(how)});
  if (!save_requests_.back().how.link_as.empty())
    save_requests_.back().how.link_as = checkpoint_folder() / save_requests_.back().how.link_as;
}

void RunContext::save_if_any_rank_asks() {
  if (comm().world_size() > 1) {
    const c10::InferenceMode normal_mode(false);
    if (largest_count(static_cast<int64_t>(save_requests_.size()), comm()) > 0)
      save_requests_ = requests_of_all_ranks(save_requests_, comm());
  }
  save_if_asked();
}

void RunContext::save_now() {
  // A save may come inside a validation, but tensors that hooks and the writer make must not be inference tensors.
  const c10::InferenceMode normal_mode(false);
  const at::NoGradGuard no_grad;
  if (writer.has_failed()) finish_saves();
  counters.elapsed_seconds = wall_seconds();
  for (const SaveRequest& request : std::exchange(save_requests_, {})) {
    const State checkpoint = checkpoint_of(*this, request.how.weights_only);
    if (comm().rank() != 0) continue;
    finish_saves();
    try {
      std::filesystem::create_directories(request.path.parent_path());
      if (!request.how.weights_only) run_folder.note_checkpoint(request.path);
      writer.save(checkpoint, {request.path, request.how.link_as, request.how.then_remove});
    } catch (const std::filesystem::filesystem_error& error) {
      report_failed_save(UsageError(request.path.string(), ": cannot be written: ", error.code().message()));
    }
  }
}

void RunContext::save_after_exception() {
  if (save_requests_.empty()) return;
  if (comm().world_size() > 1) {
    save_requests_.clear();
    console::warn("no checkpoint is saved after the exception: the other ranks, which have parts of it, are not here");
    return;
  }
  counters.window.position = 0;
  counters.batch_phase = BatchPhase::Done;
  save_now();
  finish_saves();
}

void RunContext::finish_saves() {
  try {
    writer.wait();
  } catch (const std::exception& error) {
    report_failed_save(error);
  }
}

void RunContext::report_failed_save(const std::exception& error) const {
  if (options.checkpoint_errors == "warn")
    console::warn(std::string("a checkpoint was not saved: ") + error.what());
  else
    throw Error("a checkpoint was not saved: ", error.what(),
                "; free space or choose another folder, and continue with ckpt_path ", run_folder.path().string(),
                " (--ckpt-path). With checkpoint_errors \"warn\" the training would go on");
}

Batch RunContext::to_device(Batch batch) {
  LightningModule& lightning_module = *module_.module;
  const ModuleOverrides& by_module = module_.overrides;
  const auto data = [&](data::DataMethod method) {
    return data_module_ && data_module_->overrides.has(method) ? data_module_->module : nullptr;
  };
  auto* before = data(data::DataMethod::on_before_batch_transfer);
  auto* transfer = data(data::DataMethod::transfer_batch_to_device);
  auto* after = data(data::DataMethod::on_after_batch_transfer);
  const int64_t loader = step_context.dataloader_idx;

  if (before != nullptr)
    batch = before->on_before_batch_transfer(std::move(batch), loader);
  else if (by_module.has(ModuleMethod::on_before_batch_transfer))
    batch = lightning_module.on_before_batch_transfer(std::move(batch), loader);

  batch = precision.convert_batch(std::move(batch));
  if (transfer != nullptr)
    batch = transfer->transfer_batch_to_device(std::move(batch), device(), loader);
  else if (by_module.has(ModuleMethod::transfer_batch_to_device))
    batch = lightning_module.transfer_batch_to_device(std::move(batch), device(), loader);
  else
    batch = strategy.to_device(std::move(batch));
  if (channels_last_) batch = batch.channels_last();

  if (after != nullptr)
    batch = after->on_after_batch_transfer(std::move(batch), loader);
  else if (by_module.has(ModuleMethod::on_after_batch_transfer))
    batch = lightning_module.on_after_batch_transfer(std::move(batch), loader);
  return batch;
}

void RunContext::log_row(const Metrics& values) {
  if (values.empty()) return;
  for (const auto& logger : loggers)
    logger->log_metrics(values,
                        {.step = counters.global_step, .epoch = counters.epoch, .wall_seconds = wall_seconds()});
}

double RunContext::wall_seconds() const {
  return seconds_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

void RunContext::begin_wall_seconds_at(double seconds) { seconds_before_ += seconds - wall_seconds(); }

void RunContext::leave_loop() {
  current_batch = nullptr;
  step = nullptr;
  current_prediction = nullptr;
  step_context.optimizers = nullptr;
  configure_optimizers = {};
  sink.leave_batch();
}

void RunContext::enter(Stage stage, int64_t dataloader_idx) {
  counters.stage = step_context.stage = stage;
  step_context.dataloader_idx = dataloader_idx;
}

}  // namespace levin
