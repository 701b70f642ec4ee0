#include <levin/trainer/loops/overridden_inside.h>

#include <utility>

namespace levin {

std::string overridden_inside(const StepParts& parts) {
  static constexpr std::pair<Hook, const char*> kHooks[] = {
      {Hook::on_before_zero_grad, "on_before_zero_grad"},
      {Hook::on_before_backward, "on_before_backward"},
      {Hook::on_after_backward, "on_after_backward"},
      {Hook::on_before_optimizer_step, "on_before_optimizer_step"}};
  static constexpr std::pair<ModuleMethod, const char*> kMethods[] = {
      {ModuleMethod::optimizer_step, "optimizer_step"},
      {ModuleMethod::backward, "backward"},
      {ModuleMethod::optimizer_zero_grad, "optimizer_zero_grad"},
      {ModuleMethod::configure_gradient_clipping, "configure_gradient_clipping"}};
  for (const auto& [hook, name] : kHooks)
    if (parts.hooks.anyone_overrides(hook)) return name;
  for (const auto& [method, name] : kMethods)
    if (parts.overrides.has(method)) return name;
  return {};
}

}  // namespace levin
