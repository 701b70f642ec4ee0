#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/trainer/core/error.h>
#include <torch/optim/optimizer.h>

namespace levin {
namespace {

State to_state(const std::vector<double>& values) {
  State list = State::list();
  for (double value : values) list.push_back(value);
  return list;
}

}  // namespace

LRScheduler::LRScheduler(torch::optim::Optimizer& optimizer) : optimizer_(optimizer), base_lrs_(last_lr()) {}

void LRScheduler::step() {
  ++last_epoch_;
  set_lr(next_lr(last_lr()));
}

void LRScheduler::step(double /*metric*/) { step(); }

void LRScheduler::start() { set_lr(next_lr(last_lr())); }

std::vector<double> LRScheduler::last_lr() const {
  std::vector<double> rates;
  for (const auto& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

void LRScheduler::set_lr(const std::vector<double>& rates) {
  for (size_t i = 0; i < rates.size(); ++i) optimizer_.param_groups()[i].options().set_lr(rates[i]);
}

State LRScheduler::state_dict() const {
  return State::dict({{"base_lrs", to_state(base_lrs_)},
                      {"last_epoch", last_epoch_},
                      {"_step_count", last_epoch_ + 1},
                      {"_last_lr", to_state(last_lr())}});
}

void LRScheduler::load_state_dict(const State& state) {
  const State::List& rates = state.at("base_lrs").items();
  if (rates.size() != base_lrs_.size())
    throw UsageError("the scheduler's state has base_lrs for ", rates.size(), " parameter groups, the optimizer has ",
                     base_lrs_.size());
  for (size_t i = 0; i < rates.size(); ++i) base_lrs_[i] = rates[i].to_double();
  last_epoch_ = state.at("last_epoch").to_int();
}

LRSchedulerSpec::LRSchedulerSpec(LRSchedulerConfig config_) : config(std::move(config_)) {
  schema_of<LRSchedulerConfig>().check(&config, "lr_scheduler");
}

}  // namespace levin
