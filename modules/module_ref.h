#pragma once
#include <levin/modules/overrides.h>

#include <concepts>
#include <memory>
#include <type_traits>

namespace torch::nn {
class Module;
}

namespace levin {

class LightningModule;

/// Any kind of pointer to a module: shared_ptr, unique_ptr or a raw pointer.
template <class P>
concept ModulePointer = requires(const P& pointer) {
  { *pointer } -> std::convertible_to<LightningModule&>;
};

/// A network of LibTorch that is no LightningModule, its holder or a pointer to it, passed by mistake for one.
template <class M>
concept PlainModule = (std::derived_from<std::remove_cvref_t<M>, torch::nn::Module> &&
                       !std::derived_from<std::remove_cvref_t<M>, LightningModule>) ||
                      (!ModulePointer<std::remove_cvref_t<M>> && requires(const std::remove_cvref_t<M>& pointer) {
                        { *pointer } -> std::convertible_to<const torch::nn::Module&>;
                      });

/// A module and the overrides of its class, found at compile time. Converts implicitly from a module or a pointer to
/// one; a ModuleRef made from a shared_ptr shares ownership.
struct ModuleRef {
  template <class M>
    requires std::derived_from<std::remove_cvref_t<M>, LightningModule>
  ModuleRef(M&& module_) : module(&module_), overrides(overrides_of(module_)) {
    static_assert(
        std::is_lvalue_reference_v<M>,
        "levin: a module that is a temporary would be gone after the call, with all that it has learnt; make it "
        "a variable, or hand over a shared_ptr");
  }
  template <ModulePointer P>
  ModuleRef(const P& pointer) : module(checked(pointer ? &*pointer : nullptr)), overrides(overrides_of(*pointer)) {
    if constexpr (std::convertible_to<const P&, std::shared_ptr<LightningModule>>) owner = pointer;
  }

  /// Fails to compile: a network alone has neither a loss nor an optimizer.
  template <PlainModule M>
  ModuleRef(M&&) {
    static_assert(
        levin::detail::never<M>,
        "levin: a LightningModule was expected, this is a torch::nn::Module; give it a loss: levin::wrap(net, "
        "[](auto output, auto target) { return torch::mse_loss(output, target); }), or derive its class from "
        "levin::LightningModule");
  }

  LightningModule* module;
  ModuleOverrides overrides;
  std::shared_ptr<LightningModule> owner = {};

 private:
  /// Throws levin::UsageError for null.
  static LightningModule* checked(LightningModule* module);
};

}  // namespace levin
