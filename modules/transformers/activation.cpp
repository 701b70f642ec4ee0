#include <levin/modules/transformers/activation.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>

namespace levin::nn {

at::Tensor activated(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::Gelu:
      return at::gelu(x);
    case Activation::GeluTanh:
      return at::gelu(x, "tanh");
    case Activation::Relu:
      return at::relu(x);
    case Activation::Silu:
      break;
  }
  return at::silu(x);
}

}  // namespace levin::nn
