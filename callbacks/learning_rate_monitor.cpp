#include <levin/callbacks/learning_rate_monitor.h>
#include <c10/util/Type.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/trainer/core/options/registry.h>
#include <levin/trainer/core/system/error.h>
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

void LearningRateMonitor::on_train_start(Run& run) {
  names_.clear();
  std::map<std::string, int64_t> of_class;
  for (const auto& optimizer : run.optimizers()) {
    std::string name = "lr-" + class_of(*optimizer);
    if (const int64_t before = of_class[name]++; before > 0) name += "-" + std::to_string(before);
    std::vector<std::string>& names = names_.emplace_back();
    const size_t groups = optimizer->param_groups().size();
    for (size_t i = 1; i <= groups; ++i) names.push_back(groups == 1 ? name : name + "/pg" + std::to_string(i));
  }
}

void LearningRateMonitor::on_train_batch_start(Run& run) {
  if (options_.logging_interval != "epoch") log(run, /*on_step=*/true);
}

void LearningRateMonitor::on_train_epoch_start(Run& run) {
  if (options_.logging_interval == "epoch") log(run, /*on_step=*/false);
}

void LearningRateMonitor::log(Run& run, bool on_step) const {
  const LogOptions how{.on_step = on_step, .on_epoch = !on_step};
  for (size_t i = 0; i < names_.size(); ++i) {
    torch::optim::Optimizer& optimizer = *run.optimizers()[i];
    for (size_t group = 0; group < names_[i].size(); ++group) {
      const std::string& name = names_[i][group];
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
