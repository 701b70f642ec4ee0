#include <levin/modules/module_modes.h>
#include <levin/modules/lightning_module.h>

#include <string>
#include <unordered_set>

namespace levin {
namespace {

std::unordered_set<std::string> names_in(const State& list) {
  std::unordered_set<std::string> names;
  for (const State& name : list.items()) names.insert(name.to_string());
  return names;
}

/// Visits the module itself, under the empty name, then all submodules, parents before their children. (named_modules
/// with include_self needs a module owned by a shared_ptr.)
template <class M, class Visit>
void visit_modules(M& module, Visit visit) {
  visit(std::string(), module);
  for (const auto& submodule : module.named_modules("", /*include_self=*/false))
    visit(submodule.key(), *submodule.value());
}

}  // namespace

State module_modes(const LightningModule& module) {
  State eval = State::list(), frozen = State::list();
  const auto& before_evaluation = ModuleAccess::training_modes(module);
  visit_modules(module, [&](const std::string& name, const torch::nn::Module& submodule) {
    bool training = submodule.is_training();
    for (const auto& [known, mode] : before_evaluation)
      if (known == &submodule) training = mode;
    if (!training) eval.push_back(name);
  });
  for (const auto& parameter : module.named_parameters())
    if (!parameter.value().requires_grad()) frozen.push_back(parameter.key());
  return State::dict({{"eval", std::move(eval)}, {"frozen", std::move(frozen)}});
}

void load_module_modes(LightningModule& module, const State& state) {
  const auto eval = names_in(state.at("eval")), frozen = names_in(state.at("frozen"));
  // train(bool) sets the whole subtree, so children come after their parents.
  visit_modules(module,
                [&](const std::string& name, torch::nn::Module& submodule) { submodule.train(!eval.contains(name)); });
  for (auto& parameter : module.named_parameters()) {
    const bool wanted = !frozen.contains(parameter.key());
    if (parameter.value().requires_grad() != wanted) parameter.value().set_requires_grad(wanted);
  }
}

}  // namespace levin
