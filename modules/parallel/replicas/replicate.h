#pragma once
#include <c10/core/Device.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <concepts>
#include <memory>
#include <type_traits>
#include <vector>

namespace levin::parallel {

namespace detail {
template <class M>
struct ImplOfT {
  using Type = M;
};
template <class M>
  requires requires { typename M::ContainedType; }
struct ImplOfT<M> {
  using Type = typename M::ContainedType;
};
template <class M>
struct ImplOfT<std::shared_ptr<M>> {
  using Type = M;
};
}  // namespace detail

/// The implementation class of a module: LeNetImpl for the holder LeNet, for std::shared_ptr<LeNetImpl>, and for
/// LeNetImpl.
template <class M>
using ImplOf = typename detail::ImplOfT<std::remove_cvref_t<M>>::Type;

/// Returns the pointer inside a module holder, or the pointer itself.
template <class M>
std::shared_ptr<ImplOf<M>> pointer_to(const M& module) {
  if constexpr (requires { module.ptr(); }) {
    return module.ptr();
  } else {
    return module;
  }
}

/// Returns `module.clone(device)`, without consuming random numbers for weights that are then overwritten, and with
/// tensors that can be trained even if inference mode is on. Throws levin::UsageError if the module cannot be cloned,
/// or if its clone has another class.
std::shared_ptr<torch::nn::Module> clone_module(const torch::nn::Module& module, c10::Device device);

/// Returns copies of `module` for one forward, whose gradients go to `module`'s own parameters as with
/// ReplicaState::attach. Throws levin::UsageError as clone_module, and for devices that do not exist.
std::vector<std::shared_ptr<torch::nn::Module>> replicate_module(torch::nn::Module& module,
                                                                 const std::vector<c10::Device>& devices);

/// Returns the same for a module holder (torch::nn::Linear) or a shared pointer. Source: torch.nn.parallel.replicate.
template <class M>
std::vector<std::shared_ptr<ImplOf<M>>> replicate(const M& module, const std::vector<c10::Device>& devices) {
  std::vector<std::shared_ptr<ImplOf<M>>> replicas;
  for (const auto& replica : replicate_module(*pointer_to(module), devices))
    replicas.push_back(std::dynamic_pointer_cast<ImplOf<M>>(replica));
  return replicas;
}

}  // namespace levin::parallel
