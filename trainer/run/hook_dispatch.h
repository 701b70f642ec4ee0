#pragma once
#include <levin/core/run/hooks.h>

#include <array>
#include <vector>

namespace levin {

/// Calls each hook on the receivers that override it, in the order of `add`. A hook without receivers costs one
/// comparison.
class HookDispatch {
 public:
  /// Appends a receiver; it must outlive the dispatch.
  void add(Hooks& receiver, HookMask overridden) {
    for (size_t hook = 0; hook < receivers_.size(); ++hook)
      if (overridden.has(static_cast<Hook>(hook))) receivers_[hook].push_back(&receiver);
  }
  bool anyone_overrides(Hook hook) const { return !receivers_[static_cast<size_t>(hook)].empty(); }
  const std::vector<Hooks*>& receivers(Hook hook) const { return receivers_[static_cast<size_t>(hook)]; }

#define X(hook, parameters)                                                      \
  template <class... Arguments>                                                  \
  void hook(Arguments&... arguments) const {                                     \
    for (Hooks * receiver : receivers(Hook::hook)) receiver->hook(arguments...); \
  }
  LEVIN_FOR_EACH_HOOK(X)
#undef X

 private:
  std::array<std::vector<Hooks*>, static_cast<size_t>(Hook::kCount)> receivers_ = {};
};

}  // namespace levin
