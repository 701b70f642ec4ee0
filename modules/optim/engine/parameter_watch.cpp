#include <levin/modules/optim/engine/parameter_watch.h>
#include <levin/modules/optim/engine/gradients.h>
#include <levin/modules/optim/engine/parameter_groups.h>

namespace levin::optim {
namespace {

const c10::StorageImpl* storage_of(const at::Tensor& parameter) { return parameter.storage().unsafeGetStorageImpl(); }

}  // namespace

ParameterWatch::ParameterWatch(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) {
  for (const auto& optimizer : optimizers) add(*optimizer);
}

ParameterWatch::ParameterWatch(const torch::optim::Optimizer& optimizer, Sees sees) : sees_(sees) { add(optimizer); }

void ParameterWatch::add(const torch::optim::Optimizer& optimizer) {
  watched_.push_back({&optimizer, {}});
  look_at(watched_.back());
}

bool ParameterWatch::has_changed() {
  bool changed = false;
  for (Watched& watched : watched_) {
    if (is_as_before(watched)) continue;
    check_unique(detail::parameters_of(*watched.optimizer));
    look_at(watched);
    changed = true;
  }
  return changed;
}

bool ParameterWatch::is_as_before(const Watched& watched) const {
  size_t next = 0;
  for (const torch::optim::OptimizerParamGroup& group : watched.optimizer->param_groups())
    for (const at::Tensor& parameter : group.params()) {
      if (next == watched.parameters.size()) return false;
      const Seen& before = watched.parameters[next++];
      if (!parameter.is_same(before.tensor) || storage_of(parameter) != before.storage._unsafe_get_target())
        return false;
      if (sees_ == Sees::TensorsAndFreezing && parameter.requires_grad() != before.required_grad) return false;
    }
  return next == watched.parameters.size();
}

void ParameterWatch::look_at(Watched& watched) {
  watched.parameters.clear();
  for (const at::Tensor& parameter : detail::parameters_of(*watched.optimizer))
    watched.parameters.push_back({parameter, parameter.requires_grad(), parameter.storage().getWeakStorageImpl()});
}

}  // namespace levin::optim
