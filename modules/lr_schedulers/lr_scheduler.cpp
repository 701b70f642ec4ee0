#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/core/system/error.h>
#include <torch/optim/optimizer.h>

#include <nlohmann/json.hpp>

namespace levin {
namespace {

State to_state(const std::vector<double>& values) {
  State list = State::list();
  for (double value : values) list.push_back(value);
  return list;
}
template <class T>
State to_state(const T& value) {
  return value;
}

void read(const State& state, bool& value) { value = state.to_bool(); }
void read(const State& state, int64_t& value) { value = state.to_int(); }
void read(const State& state, double& value) { value = state.to_double(); }
void read(const State& state, std::string& value) { value = state.to_string(); }
void read(const State& state, std::vector<double>& values) {
  values.clear();
  for (const State& value : state.items()) values.push_back(value.to_double());
}

}  // namespace

LRScheduler::LRScheduler(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context)
    : optimizer_(optimizer),
      initial_lr_(context.initial_lr ? context.initial_lr : std::make_shared<std::vector<double>>()) {
  if (initial_lr_->empty()) *initial_lr_ = last_lr();
  base_lrs_ = *initial_lr_;
}

void LRScheduler::step() {
  ++step_count_;
  ++last_epoch_;
  set_lr(next_lr(last_lr()));
}

void LRScheduler::step(double /*metric*/) { step(); }

void LRScheduler::advance_to(int64_t last_epoch) {
  if (!can_advance())
    throw UsageError(
        "lr_scheduler.interval: this scheduler cannot count tokens, since its rate follows from the one before; "
        "WarmupCosine and LambdaLR can");
  ++step_count_;
  last_epoch_ = last_epoch;
  set_lr(next_lr(last_lr()));
}

void LRScheduler::start() {
  last_epoch_ = -1;
  initial_step();
}

void LRScheduler::undo_initial_step() { --last_epoch_; }

void LRScheduler::initial_step() {
  step_count_ = 0;
  in_initial_step_ = true;
  step();
  in_initial_step_ = false;
}

void LRScheduler::restart() {
  last_epoch_ = 0;
  set_lr(first_lr(last_lr()));
}

std::vector<double> LRScheduler::last_lr() const {
  std::vector<double> rates;
  for (const auto& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

void LRScheduler::set_lr(const std::vector<double>& rates) {
  for (size_t i = 0; i < rates.size(); ++i) optimizer_.param_groups()[i].options().set_lr(rates[i]);
}

State LRScheduler::state_dict() const {
  State state = State::dict({{"base_lrs", to_state(base_lrs_)},
                             {"last_epoch", last_epoch_},
                             {"_step_count", step_count_},
                             {"_last_lr", to_state(last_lr())}});
  for (const auto& [key, member] : members_)
    state[key] = std::visit([](const auto* value) { return to_state(*value); }, member);
  for (const auto& [key, choice, type] : choices_) state[key] = type->get(choice).get<std::string>();
  return state;
}

void LRScheduler::load_state_dict(const State& state) {
  if (const State* rates = state.find("base_lrs")) {
    // The saved list may be shorter: the scheduler does not count groups that were added during the run.
    if (rates->size() > base_lrs_.size() || (rates->size() == 0 && !base_lrs_.empty()))
      throw UsageError("the scheduler's state has base_lrs for ", rates->size(),
                       " parameter groups, the optimizer has ", base_lrs_.size());
    read(*rates, base_lrs_);
  }
  last_epoch_ = state.at("last_epoch").to_int();
  if (const State* count = state.find("_step_count")) step_count_ = count->to_int();
  for (const auto& [key, member] : members_)
    if (const State* saved = state.find(key)) std::visit([&](auto* value) { read(*saved, *value); }, member);
  for (const auto& [key, choice, type] : choices_)
    if (const State* saved = state.find(key))
      type->set(choice, "the scheduler's state, " + key, saved->to_string(), {.choices = type->words()});
}

LRSchedulerSpec::LRSchedulerSpec(LRSchedulerConfig config_) : config(std::move(config_)) {
  schema_of<LRSchedulerConfig>().check(&config, "lr_scheduler");
}

}  // namespace levin
