#include <levin/callbacks/learning_rate_monitor.h>
#include <c10/util/Type.h>
#include <levin/core/options/registry.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/optimizer_state.h>
#include <torch/optim/optimizer.h>

#include <map>

namespace levin {
namespace {

std::string class_of(const torch::optim::Optimizer& optimizer) {
  return detail::unqualified(c10::demangle(typeid(optimizer).name()));
}

std::optional<double> momentum_in(const State& options) {
  if (const State* momentum = options.find("momentum")) return momentum->to_double();
  if (const State* betas = options.find("betas")) return betas->items().at(0).to_double();
  return {};
}

}  // namespace

LearningRateMonitor::LearningRateMonitor(LearningRateMonitorOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "LearningRateMonitor");
}

void LearningRateMonitor::setup(Run& /*run*/) { begun_with_.clear(); }

void LearningRateMonitor::on_train_start(Run& run) {
  names_.clear();
  std::map<std::string, int64_t> of_class;
  for (const auto& optimizer : run.optimizers()) {
    std::string name = "lr-" + class_of(*optimizer);
    if (const int64_t before = of_class[name]++; before > 0) name += "-" + std::to_string(before);
    names_.push_back({.optimizer = std::move(name)});
    if (begun_with_.size() < names_.size())
      begun_with_.push_back(static_cast<int64_t>(optimizer->param_groups().size()));
  }
}

/// Returns the names of an optimizer's groups, of which more may have joined.
const std::vector<std::string>& LearningRateMonitor::names_of_groups(size_t optimizer, size_t count) {
  auto& [name, of_groups] = names_[optimizer];
  while (of_groups.size() < count) {
    const bool is_only = of_groups.empty() && begun_with_[optimizer] == 1;
    of_groups.push_back(is_only ? name : name + "/pg" + std::to_string(of_groups.size() + 1));
  }
  return of_groups;
}

State LearningRateMonitor::state_dict() const {
  State groups = State::list();
  for (const int64_t count : begun_with_) groups.push_back(count);
  return State::dict({{"groups_at_start", std::move(groups)}});
}

void LearningRateMonitor::load_state_dict(const State& state) {
  begun_with_.clear();
  if (const State* const groups = state.find("groups_at_start"))
    for (const State& count : groups->items()) begun_with_.push_back(count.to_int());
}

void LearningRateMonitor::on_train_batch_start(Run& run) {
  if (interval() == Interval::Step) log(run, /*on_step=*/true);
}

void LearningRateMonitor::on_train_epoch_start(Run& run) {
  if (interval() == Interval::Epoch) log(run, /*on_step=*/false);
}

void LearningRateMonitor::log(Run& run, bool on_step) {
  const LogOptions how{.on_step = on_step, .on_epoch = !on_step};
  for (size_t i = 0; i < names_.size(); ++i) {
    torch::optim::Optimizer& optimizer = *run.optimizers()[i];
    const size_t groups = optimizer.param_groups().size();
    const std::vector<std::string>& names = names_of_groups(i, groups);
    for (size_t group = 0; group < groups; ++group) {
      const std::string& name = names[group];
      run.log(name, optimizer.param_groups()[group].options().get_lr(), how);
      if (!options_.log_momentum && !options_.log_weight_decay) continue;
      const State values = optim::parameter_group_options(optimizer, group);
      if (const auto momentum = momentum_in(values); momentum && options_.log_momentum)
        run.log(name + "-momentum", *momentum, how);
      if (const State* decay = values.find("weight_decay"); decay != nullptr && options_.log_weight_decay)
        run.log(name + "-weight_decay", decay->to_double(), how);
    }
  }
}

}  // namespace levin
