#include <levin/program/profile/profile_trial.h>
#include <ATen/Context.h>
#include <ATen/ops/tensor.h>
#include <levin/callbacks/callback.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/modules/observers/flop_counter.h>
#include <levin/program/profile/step_floor.h>
#include <levin/trainer/trainer.h>
#include <levin/trainer/trainer_impl.h>
#include <sys/resource.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace levin {
namespace fs = std::filesystem;
namespace {

/// Schedules may ask for the length of the run, and a module without loaders needs one. TrialProbe ends it long before.
constexpr int64_t kManySteps = 1'000'000'000;

double user_seconds() {
  rusage use = {};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec) + 1e-6 * static_cast<double>(use.ru_utime.tv_usec);
}

/// Returns how long this thread has waited for a core while it was ready; 0 where the kernel does not tell.
double waited_seconds() {
  std::ifstream file("/proc/thread-self/schedstat");
  int64_t ran = 0, waited = 0;
  return file >> ran >> waited ? 1e-9 * static_cast<double>(waited) : 0;
}

/// Measures a trial, and ends it.
class TrialProbe : public Callback {
 public:
  TrialProbe(const ProfileProbe& probe, int64_t warmup, int64_t batches, TrialMeasure& measure, ProfileFacts* facts,
             StepWatch* watch)
      : probe_(probe), warmup_(warmup), batches_(batches), measure_(measure), facts_(facts), watch_(watch) {}

  void on_fit_start(Run& run) override {
    if (facts_ != nullptr) look_at(run);
    if (!probe_.null_optimizer) return;
    for (const auto& optimizer : run.optimizers())
      for (auto& group : optimizer->param_groups()) group.params().clear();
  }

  void on_train_batch_start(Run& run) override {
    if (received_signal() != 0) throw Error("levin::profile_run was stopped by ", signal_name(received_signal()));
    // Nothing else frees or zeroes gradients of parameters that no optimizer has.
    if (probe_.null_optimizer) run.module().zero_grad();
    const int64_t seen = run.state().batches_seen;
    if (facts_ != nullptr && seen == 0) {
      facts_->samples_per_batch = run.batch().size();
      facts_->batch_bytes = bytes_of(run.batch());
      facts_->has_non_contiguous = has_non_contiguous(run.batch());
      facts_->batches_per_epoch = run.num_batches().value_or(0);
    }
    if (seen > 0) begun_batches_ += 1;
    // The first batch also makes what later ones have.
    if (facts_ != nullptr && seen == 1) flops_ = std::make_unique<FlopCounter>();
    if (watch_ != nullptr && seen >= warmup_) watch_->begin_batch(run.batch());
    if (seen == warmup_) start();
    if (seen == warmup_ + batches_ && !is_over_) finish(run);
  }

  void on_train_batch_end(Run& run) override {
    if (facts_ != nullptr && begun_batches_ > 0) {
      facts_->optimizer_bytes = optimizer_bytes_ / begun_batches_;
      facts_->gradient_bytes = gradient_bytes_ / begun_batches_;
    }
    if (flops_) {
      facts_->flops_per_step = static_cast<double>(flops_->flops());
      facts_->products = flops_->products();
    }
    flops_.reset();
    if (watch_ != nullptr) watch_->end_batch();
    if (begun_ && !is_over_) {
      measure_.batches += 1;
      measure_.samples += run.batch().size();
    }
  }
  void on_before_optimizer_step(Run& run, torch::optim::Optimizer& optimizer) override {
    // The first step makes the optimizer's state.
    if (facts_ == nullptr || run.state().batches_seen < 1) return;
    optimizer_bytes_ += bytes_of_step(optimizer);
    if (facts_->world_size > 1) gradient_bytes_ += bytes_of_gradients(optimizer);
  }
  void on_validation_end(Run& /*run*/) override {
    if (begun_ && !is_over_) measure_.validations += 1;
  }
  void on_exception(Run&, const std::exception&) override {
    flops_.reset();
    if (watch_ != nullptr) watch_->end_batch();
  }
  bool is_over() const { return is_over_; }

 private:
  using Clock = std::chrono::steady_clock;

  void look_at(Run& run) const {
    facts_->world_size = run.comm().world_size();
    facts_->on_gpu = !run.device().is_cpu();
    facts_->is_automatic = run.module().automatic_optimization;
    for (const at::Tensor& parameter : run.module().parameters())
      facts_->has_convolution |= parameter.defined() && parameter.dim() == 4;
  }

  void start() {
    begun_ = true;
    started_ = Clock::now();
    cpu_ = user_seconds();
    waited_ = waited_seconds();
  }

  void finish(Run& run) {
    measure_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    measure_.cpu_seconds = user_seconds() - cpu_;
    measure_.waited_seconds = std::min(waited_seconds() - waited_, 0.95 * measure_.seconds);
    is_over_ = true;
    Comm& comm = run.comm();
    if (comm.world_size() > 1) {
      const auto samples = static_cast<double>(measure_.samples);
      at::Tensor of_first = at::tensor({measure_.seconds, measure_.waited_seconds, measure_.cpu_seconds, samples},
                                       at::TensorOptions(at::kDouble))
                                .to(run.device());
      comm.broadcast(of_first, 0);
      const at::Tensor values = of_first.cpu();
      measure_.seconds = values[0].item<double>();
      measure_.waited_seconds = values[1].item<double>();
      measure_.cpu_seconds = values[2].item<double>();
      measure_.samples = static_cast<int64_t>(values[3].item<double>());
    }
    run.request_stop("the trial is over");
  }

  ProfileProbe probe_;
  int64_t warmup_, batches_;
  TrialMeasure& measure_;
  ProfileFacts* facts_;
  StepWatch* watch_;
  std::unique_ptr<FlopCounter> flops_ = {};
  bool begun_ = false, is_over_ = false;
  Clock::time_point started_ = {};
  double cpu_ = 0, waited_ = 0;
  int64_t begun_batches_ = 0, optimizer_bytes_ = 0, gradient_bytes_ = 0;  ///< without the first batch
};

/// Makes a folder in `beside` or the nearest folder above it that exists, so that files go to the same disk.
fs::path make_scratch(fs::path beside) {
  std::error_code failed;
  beside = fs::absolute(beside, failed);
  while (!fs::is_directory(beside, failed) && beside.has_relative_path()) beside = beside.parent_path();
  for (const fs::path& parent : {beside, fs::temp_directory_path()}) {
    std::string name = (parent / ".levin_profile_XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) return name;
  }
  throw Error("profile: no temporary folder can be made in ", beside.string(), " or ",
              fs::temp_directory_path().string());
}

/// Sets the options without which a trial would end early, print, or leave something behind.
void change_options(TrainerOptions& options, const fs::path& scratch) {
  options.max_epochs = -1;
  options.max_steps = kManySteps;
  options.min_epochs = options.min_steps = {};
  options.max_time = {};
  options.auto_lr_find = false;
  options.auto_scale_batch_size = {};
  options.scale_lr = {};
  options.max_restarts = 0;
  options.num_sanity_val_steps = 0;
  options.print_warnings = false;
  options.default_root_dir = scratch.string();
  if (!options.barebones) options.enable_model_summary = false;
}

}  // namespace

TrialRunner::TrialRunner(const ProfileSubject& subject, const Json& config) : subject_(subject) {
  const auto root = config.value(Json::json_pointer("/trainer/default_root_dir"), std::string("."));
  scratch_ = make_scratch(root);
}

TrialRunner::~TrialRunner() {
  last_.reset();
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

TrialMeasure TrialRunner::run(const ProfileTrial& trial, int64_t warmup, int64_t batches, ProfileFacts* facts,
                              StepWatch* watch) {
  const RngGuard random_numbers;
  trials_ += 1;
  Json config = trial.config;
  // Callbacks that write to a folder of their own.
  const Json::json_pointer list("/trainer/callbacks");
  if (config.contains(list) && config[list].is_array())
    for (Json& callback : config[list])
      if (callback.is_object() && callback.contains("dirpath") && callback["dirpath"].is_string() &&
          !callback["dirpath"].get<std::string>().empty())
        callback["dirpath"] = (scratch_ / "files").string();
  ProfileParts parts = subject_.make(config.dump());
  if (!parts.module) throw UsageError("profile: make() returned no module");
  change_options(parts.trainer, scratch_);
  TrialMeasure measure;
  const auto probe = std::make_shared<TrialProbe>(trial.probe, warmup, batches, measure, facts, watch);
  parts.trainer.callbacks.push_back(probe);
  auto trainer = std::make_unique<Trainer>(parts.trainer);
  is_rank_zero_ = trainer->is_global_zero();
  // Ranks compare their configs, and the folders' names differ.
  Trainer::Impl::of(*trainer).config = {.json = "{}\n", .hyperparameters = "{}"};
  if (facts != nullptr) {
    const ModuleOverrides& by_module = ModuleRef(parts.module).overrides;
    for (const auto method : {data::DataMethod::on_before_batch_transfer, data::DataMethod::on_after_batch_transfer})
      facts->has_batch_hooks |= parts.data && data::DataModuleRef(parts.data).overrides.has(method);
    for (const auto method : {ModuleMethod::on_before_batch_transfer, ModuleMethod::on_after_batch_transfer})
      facts->has_batch_hooks |= by_module.has(method);
  }
  if (trial.probe.constant_batch || trial.probe.constant_hooks)
    trainer->fit(parts.module, ProbeData::ref(std::make_shared<ProbeData>(parts.data, *parts.module, trial.probe)));
  else if (parts.data)
    trainer->fit(parts.module, data::DataModuleRef(parts.data));
  else
    trainer->fit(parts.module);
  if (received_signal() != 0) throw Error("levin::profile_run was stopped by ", signal_name(received_signal()));
  if (!probe->is_over())
    throw UsageError("profile: the fit ended after ", measure.batches + warmup, " train batches, before the ",
                     warmup + batches, " of a trial; a callback or the module stopped it");
  last_ = std::move(trainer);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(scratch_, ignored)) fs::remove_all(entry.path(), ignored);
  return measure;
}

}  // namespace levin
