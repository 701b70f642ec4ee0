#pragma once
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace levin::torch_compat {

/// The pointer type by which an Edge holds its Node: std::shared_ptr up to about LibTorch 2.12, c10::intrusive_ptr
/// since.
using NodePointer = decltype(torch::autograd::Edge::function);

/// Makes a node of class `N`.
template <class N, class... Args>
NodePointer make_node(Args&&... args) {
  if constexpr (std::is_same_v<NodePointer, std::shared_ptr<torch::autograd::Node>>) {
    return std::make_shared<N>(std::forward<Args>(args)...);
  } else {
    return c10::make_intrusive<N>(std::forward<Args>(args)...);
  }
}

namespace detail {

template <class WeakPointer>
void renew_grad_accumulator(void (*set)(const at::Tensor&, WeakPointer), const at::Tensor& leaf) {
  set(leaf, WeakPointer(NodePointer()));
}

}  // namespace detail

/// Makes the next graph that a leaf is part of use a new accumulator for its gradient: one records the leaf's shape.
inline void renew_grad_accumulator(const at::Tensor& leaf) {
  detail::renew_grad_accumulator(&torch::autograd::impl::set_grad_accumulator, leaf);
}

}  // namespace levin::torch_compat
