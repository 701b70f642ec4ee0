#include <levin/callbacks/fit_control.h>
#include <levin/callbacks/callback.h>

namespace levin {

std::vector<FitControl*> fit_controls(const std::vector<CallbackEntry>& callbacks) {
  std::vector<FitControl*> controls;
  for (const CallbackEntry& entry : callbacks)
    if (auto* control = dynamic_cast<FitControl*>(entry.callback.get())) controls.push_back(control);
  return controls;
}

}  // namespace levin
