#include <levin/modules/optim/registry.h>

namespace levin::optim {
namespace {

/// levin's own optimizers.
void register_builtins(Registry<OptimizerKind::Entry>& /*registry*/) {}

}  // namespace

Registry<OptimizerKind::Entry>& OptimizerKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("optimizer", "optimizers");
    register_builtins(made);
    return made;
  }();
  return registry;
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Part<OptimizerKind>& part, const std::string& path,
                                                        std::vector<at::Tensor> parameters) {
  ParamGroups groups;
  groups.emplace_back(std::move(parameters));
  return part.make(path, std::move(groups));
}

}  // namespace levin::optim
