#include <levin/callbacks/stochastic_weight_averaging.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/swa_lr.h>
#include <levin/modules/visit_batch_norm.h>

#include <exception>

namespace levin {
namespace {

/// Calls `visit` with each batch norm that has running statistics.
template <class Visit>
void for_each_batch_norm(const torch::nn::Module& module, const Visit& visit) {
  for (const auto& part : module.modules(/*include_self=*/false))
    visit_batch_norm(*part, [&](auto& norm) {
      if (norm.running_mean.defined()) visit(norm);
    });
}

std::optional<c10::Device> device_named(const std::string& name) try {
  return name.empty() ? std::nullopt : std::optional(c10::Device(name));
} catch (const std::exception&) {
  throw UsageError(
      "StochasticWeightAveraging.device: expected a device, such as \"cpu\" or \"cuda:0\", or \"\", got \"", name,
      "\"");
}

/// Integers and booleans have no mean: the newest value counts.
at::Tensor mean_of(const at::Tensor& average, const at::Tensor& value, int64_t averaged) {
  if (!value.is_floating_point() && !value.is_complex()) return value;
  return average + (value - average) / (averaged + 1);
}

}  // namespace

StochasticWeightAveraging::StochasticWeightAveraging(StochasticWeightAveragingOptions options)
    : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "StochasticWeightAveraging");
  if (options_.swa_lrs.empty())
    throw UsageError("StochasticWeightAveraging.swa_lrs: missing; set the learning rate while averaging");
  for (double rate : options_.swa_lrs.values())
    if (!(rate > 0)) throw UsageError("StochasticWeightAveraging.swa_lrs: expected more than 0, got ", rate);
  device_named(options_.device);
}

void StochasticWeightAveraging::setup(Run& run) {
  if (!run.fitting()) return;
  n_averaged_ = 0;
  latest_update_epoch_ = -1;
  updates_batch_norms_ = is_updating_ = false;
  entries_.clear();
  buffers_.clear();
  scheduler_.reset();
  loaded_ = {};
}

void StochasticWeightAveraging::on_fit_start(Run& run) {
  if (!run.module().automatic_optimization)
    throw UsageError(
        "StochasticWeightAveraging: under manual optimization the module steps its optimizers and schedulers itself; "
        "average in its hooks (levin::optim::EMA), or use automatic optimization");
  if (run.optimizers().size() != 1)
    throw UsageError("StochasticWeightAveraging: expected one optimizer, configure_optimizers returned ",
                     run.optimizers().size());
  if (run.lr_schedulers().size() > 1)
    throw UsageError("StochasticWeightAveraging: expected at most one lr_scheduler, configure_optimizers returned ",
                     run.lr_schedulers().size());
  const std::optional<int64_t> max_epochs = run.max_epochs();
  const int64_t number = options_.swa_epoch_start.of(max_epochs, "StochasticWeightAveraging.swa_epoch_start");
  first_epoch_ = std::max<int64_t>(number - 1, 0);
  last_epoch_ = max_epochs ? std::optional(*max_epochs - 1) : std::nullopt;
  const bool begins = !last_epoch_ || first_epoch_ <= *last_epoch_;
  if (max_epochs && begins) for_each_batch_norm(run.module(), [&](const auto&) { updates_batch_norms_ = true; });
  start(run);
}

/// Makes the averages, which begin as copies, and takes up a loaded state.
void StochasticWeightAveraging::start(Run& run) {
  const at::NoGradGuard no_grad;
  const std::optional<c10::Device> device = device_named(options_.device);
  for (const auto& item : run.module().named_parameters()) {
    const at::Tensor& parameter = item.value();
    entries_.push_back(
        {item.key(), parameter,
         parameter.detach().to(parameter.options().device(device.value_or(parameter.device())), false, /*copy=*/true)});
  }
  for (const auto& item : run.module().named_buffers()) buffers_.emplace_back(item.key(), item.value());
  if (loaded_.is_none()) return;
  const State& averages = loaded_.at("average_model_state");
  for (Entry& entry : entries_) {
    const at::Tensor& saved = averages.at(entry.name).to_tensor();
    if (saved.sizes() != entry.average.sizes())
      throw UsageError("StochasticWeightAveraging: the checkpoint's average of ", entry.name, " has shape ",
                       saved.sizes(), ", the parameter ", entry.average.sizes());
    entry.average.copy_(saved);
  }
  if (const State& saved = loaded_.at("scheduler_state"); !saved.is_none()) resume_scheduler(run, saved);
  const State* const updating = loaded_.find("updating_batch_norms");
  const bool inside = run.state().batch_in_epoch > 0;
  if (updating != nullptr && updating->to_bool() && inside) let_batch_norms_average(run, /*from_nothing=*/false);
  loaded_ = {};
}

void StochasticWeightAveraging::make_scheduler(Run& run) {
  const SWALR spec({.swa_lr = options_.swa_lrs,
                    .anneal_epochs = options_.annealing_epochs,
                    .anneal_strategy = options_.annealing_strategy});
  scheduler_ = spec.bind(*run.optimizers()[0], {});
}

/// Makes the scheduler of a resumed run. The optimizer keeps the checkpoint's rates. If it has present ones, the
/// scheduler steps from them as often as it did before.
void StochasticWeightAveraging::resume_scheduler(Run& run, const State& saved) {
  const torch::optim::Optimizer& optimizer = *run.optimizers()[0];
  std::vector<double> rates;
  for (const auto& group : optimizer.param_groups()) rates.push_back(group.options().get_lr());
  make_scheduler(run);
  if (run.takes_present_options()) {
    const int64_t steps = saved.at("last_epoch").to_int();
    while (scheduler_->last_epoch() < steps) scheduler_->step();
    return;
  }
  scheduler_->load_state_dict(saved);
  for (size_t i = 0; i < rates.size(); ++i) run.optimizers()[0]->param_groups()[i].options().set_lr(rates[i]);
}

int64_t StochasticWeightAveraging::epochs_of_lr_scheduler() const {
  if (scheduler_) return scheduler_->last_epoch();
  const State* const saved = loaded_.is_none() ? nullptr : loaded_.find("scheduler_state");
  return saved == nullptr || saved->is_none() ? 0 : saved->at("last_epoch").to_int();
}

void StochasticWeightAveraging::on_train_epoch_start(Run& run) {
  const int64_t epoch = run.state().epoch;
  if (epoch >= first_epoch_ && (!last_epoch_ || epoch <= *last_epoch_)) {
    if (!scheduler_) make_scheduler(run);
    if (epoch > latest_update_epoch_) update();
    latest_update_epoch_ = epoch;
  } else if (updates_batch_norms_ && epoch == *last_epoch_ + 1) {
    copy_to_module();
    let_batch_norms_average(run, /*from_nothing=*/true);
  }
}

void StochasticWeightAveraging::update() {
  const at::NoGradGuard no_grad;
  for (Entry& entry : entries_) {
    if (entry.parameter.sizes() != entry.average.sizes())
      throw UsageError("StochasticWeightAveraging: ", entry.name, " had shape ", entry.average.sizes(), " and has now ",
                       entry.parameter.sizes(),
                       "; parameters that change their rows cannot be averaged: start after the last change");
    const at::Tensor value = entry.parameter.detach().to(entry.average.device());
    if (n_averaged_ == 0)
      entry.average.copy_(value);
    else
      entry.average.copy_(options_.avg_fn ? options_.avg_fn(entry.average, value, n_averaged_)
                                          : mean_of(entry.average, value, n_averaged_));
  }
  n_averaged_ += 1;
}

void StochasticWeightAveraging::copy_to_module() {
  const at::NoGradGuard no_grad;
  if (n_averaged_ == 0) return;
  for (Entry& entry : entries_) entry.parameter.copy_(entry.average);
}

/// Without a momentum, running statistics are the mean over all batches since they were reset.
void StochasticWeightAveraging::let_batch_norms_average(Run& run, bool from_nothing) {
  is_updating_ = true;
  for_each_batch_norm(run.module(), [&](auto& norm) {
    if (from_nothing) norm.reset_running_stats();
    std::optional<double>& momentum = norm.options.momentum();
    momenta_.emplace_back(&momentum, momentum);
    momentum.reset();
  });
}

void StochasticWeightAveraging::put_momenta_back() {
  for (const auto& [momentum, before] : momenta_) *momentum = before;
  momenta_.clear();
}

void StochasticWeightAveraging::on_train_end(Run& /*run*/) { put_momenta_back(); }

void StochasticWeightAveraging::on_exception(Run& /*run*/, const std::exception& /*error*/) { put_momenta_back(); }

void StochasticWeightAveraging::on_fit_end(Run& run) {
  const bool trained_all = !last_epoch_ || run.state().epoch > *last_epoch_;
  if (trained_all) copy_to_module();
  if (n_averaged_ == 0 && run.state().global_step > 0 && run.comm().is_global_zero())
    console::warn(
        c10::str("StochasticWeightAveraging: the fit ended before epoch ", first_epoch_ + 1,
                 ", the first that counts, so the module has its own weights; give a smaller swa_epoch_start"));
  if (!trained_all && n_averaged_ > 0 && run.comm().is_global_zero())
    console::warn(
        c10::str("StochasticWeightAveraging: the fit ended before max_epochs, so the module has its last "
                 "weights and not the averages of ",
                 n_averaged_, " epochs"));
  entries_.clear();
  buffers_.clear();
  scheduler_.reset();
}

State StochasticWeightAveraging::state_dict() const {
  State averages = State::dict();
  for (const Entry& entry : entries_) averages[entry.name] = entry.average;
  for (const auto& [name, buffer] : buffers_) averages[name] = buffer;
  return State::dict({{"n_averaged", n_averaged_},
                      {"latest_update_epoch", latest_update_epoch_},
                      {"scheduler_state", scheduler_ ? scheduler_->state_dict() : State()},
                      {"average_model_state", std::move(averages)},
                      {"updating_batch_norms", is_updating_}});
}

void StochasticWeightAveraging::load_state_dict(const State& state) {
  n_averaged_ = state.at("n_averaged").to_int();
  latest_update_epoch_ = state.at("latest_update_epoch").to_int();
  loaded_ = state;
}

}  // namespace levin
